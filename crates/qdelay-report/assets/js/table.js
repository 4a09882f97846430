"use strict";
// The figures of every selected point: sorted by any column, filtered by text, saved as CSV.

const COLUMNS = [
  { title: "Throughput", unit: "Mbit/s", path: "throughput", bar: true },
  { title: "Util.", unit: "%", path: "utilization", factor: 100, help: "Bytes sent over bytes the link offered" },
  { title: "Mean", unit: "ms", path: "delay.mean", help: "Queue delay, mean" },
  { title: "p50", unit: "ms", path: "delay.p50", help: "Queue delay, median" },
  { title: "p95", unit: "ms", path: "delay.p95", help: "Queue delay, 95th percentile" },
  { title: "p99", unit: "ms", path: "delay.p99", bar: true, help: "Queue delay, 99th percentile" },
  { title: "Max", unit: "ms", path: "delay.max", help: "Queue delay, maximum" },
  { title: "Jitter", unit: "ms", path: "jitter", help: "Mean difference of consecutive one-way delays" },
  { title: "Power", unit: "Mbit/s/ms", path: "power", help: "Throughput over the 99th percentile of the queue delay" },
  { title: "Drops", unit: "", path: "drops", text: whole, help: "Packets the bottleneck dropped, whole run" },
  { title: "Marks", unit: "", path: "marks", text: whole, help: "Packets the bottleneck marked, whole run" },
  { title: "Loss", unit: "%", path: "loss", factor: 100, help: "Data packets lost over sent, of a group of flows", groups: true },
  { title: "Jain", unit: "", path: "jain", help: "Jain's fairness index of the goodputs" },
];

const shownColumns = () => COLUMNS.filter((column) => !column.groups || (FLOWS >= 0 && [...state.selected[FLOWS]].some((label) => label > 0)));
const shownAxes = () => [...tellingAxes.filter((axis) => axis !== FLOWS || state.selected[FLOWS].size > 1), ...(state.each && SEED >= 0 && varies(SEED) ? [SEED] : [])];

const cell = (point, column) => {
  const value = figure(point, column.path);
  const factor = column.factor || 1;
  return value && { mean: value.mean * factor, low: value.low * factor, high: value.high * factor, count: value.count };
};

function matches(point) {
  const words = state.find.toLowerCase().split(/\s+/).filter(Boolean);
  const text = `${point.label} ${point.entries.map((entry) => entry.item.id).join(" ")}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** By a column or an axis; points without a figure come last. */
function sorted(points) {
  if (state.sort === null) return points;
  const axis = typeof state.sort === "number";
  const column = axis ? null : COLUMNS.find((candidate) => candidate.path === state.sort);
  const keyed = points.map((point) => ({ point, key: axis ? point.entry.at[state.sort] : cell(point, column)?.mean ?? null }));
  const sign = state.descending ? -1 : 1;
  keyed.sort((a, b) => (a.key === null) - (b.key === null) || sign * (a.key - b.key));
  return keyed.map(({ point }) => point);
}

const TABLE_ROWS = 300;

function caseTable(points, onSort, everything, onMore) {
  const rows = sorted(points.filter(matches));
  const columns = shownColumns();
  const largest = new Map(columns.filter((column) => column.bar).map((column) => [column, Math.max(...rows.map((point) => cell(point, column)?.mean || 0))]));
  const body = make("tbody", {}, ...(everything ? rows : rows.slice(0, TABLE_ROWS)).map((point) => tableRow(point, columns, largest)));
  const table = make("table", { class: "cases" }, make("thead", {}, headRow(columns, onSort)), body);
  const parts = [make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of the cases" }, table)];
  if (!rows.length) parts.push(make("p", { class: "empty", text: "Nothing is selected that fits." }));
  if (!everything && rows.length > TABLE_ROWS) parts.push(make("button", { type: "button", class: "tool", text: `Show all ${whole(rows.length)} rows`, onclick: onMore }));
  return parts;
}

function headRow(columns, onSort) {
  const head = (key, title, unit, help, kind) => {
    const direction = state.sort !== key ? "none" : state.descending ? "descending" : "ascending";
    return make("th", { scope: "col", class: kind, "aria-sort": direction },
      make("button", { type: "button", title: help || title, onclick: () => onSort(key) }, title, unit ? make("small", { text: unit }) : null));
  };
  return make("tr", {},
    ...shownAxes().map((axis) => head(axis, axisTitle(axis), "", axes[axis].name, "text")),
    ...columns.map((column) => head(column.path, column.title, column.unit, column.help, "figure")));
}

function tableRow(point, columns, largest) {
  const names = shownAxes().map((axis, at) => make("td", { class: "text" }, at === 0 ? swatch(colourOf(point.colour), shapeOf(point.shape)) : null, labelOf(point.entry, axis)));
  const figures = columns.map((column) => {
    const value = cell(point, column);
    const bar = column.bar && value && largest.get(column) > 0 ? `--bar:${((100 * value.mean) / largest.get(column)).toFixed(1)}%` : null;
    const text = column.text || number;
    const range = value && value.count > 1 ? `${text(value.low)} to ${text(value.high)} over ${plural(value.count, "seed")}` : null;
    return make("td", { class: bar ? "figure barred" : "figure", style: bar, title: range, text: value ? text(value.mean) : "–" });
  });
  return make("tr", { "data-key": point.key, onmouseenter: () => pointAt(point.key), onmouseleave: () => pointAt(null) }, ...names, ...figures);
}

function saveTable(points) {
  const quote = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const columns = shownColumns();
  const rows = sorted(points.filter(matches)).map((point) => [
    ...shownAxes().map((axis) => labelOf(point.entry, axis)),
    ...columns.map((column) => cell(point, column)?.mean?.toString() ?? ""),
  ]);
  const names = columns.map((column) => (column.unit ? `${column.path} (${column.unit})` : column.path));
  const lines = [[...shownAxes().map((axis) => axes[axis].name), ...names], ...rows].map((row) => row.map(quote).join(","));
  save(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }), `${fileName(data.title)}.csv`);
}
