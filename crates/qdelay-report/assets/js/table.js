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
  { title: "Drops", unit: "", path: "drops", text: whole, reasons: "drops_by_reason", help: "Packets the bottleneck dropped, whole run" },
  { title: "Marks", unit: "", path: "marks", text: whole, reasons: "marks_by_reason", help: "Packets the bottleneck marked, whole run" },
  { title: "Loss", unit: "%", path: "loss", factor: 100, help: "Data packets lost over sent, of a group of flows", groups: true },
  { title: "MOS", unit: "", path: "mos", help: "Mean opinion score of calls (E-model), 1 to 4.5", ofFlows: true },
  { title: "Done", unit: "", path: "done", text: whole, help: "Finite downloads that were complete", ofFlows: true },
  { title: "Not done", unit: "", path: "open", text: whole, help: "Finite downloads that were not complete at the end", ofFlows: true },
  { title: "Took, p50", unit: "ms", path: "took.p50", help: "From the start of a finite download until its last byte was there, median", ofFlows: true },
  { title: "p95", unit: "ms", path: "took.p95", help: "The same, 95th percentile", ofFlows: true },
  { title: "RPM", unit: "1/min", path: "rpm", help: "Round trips a minute under load (measures.md)", ifAny: true },
  { title: "Jain", unit: "", path: "jain", help: "Jain's fairness index of the goodputs" },
];

const hasGroups = () => FLOWS >= 0 && [...state.selected[FLOWS]].some((label) => label > 0);
const shownColumns = () => COLUMNS.filter(({ path, groups, ofFlows, ifAny }) =>
  (!groups || hasGroups()) && (!(ofFlows || ifAny) || FIGURE_AT.has(path)) && (!ofFlows || FLOWS < 0 || hasGroups()));
const shownAxes = () => [...tellingAxes.filter((axis) => axis !== FLOWS || state.selected[FLOWS].size > 1), ...(state.each && SEED >= 0 && varies(SEED) ? [SEED] : [])];

const cell = (point, column) => {
  const value = figure(point, column.path);
  const factor = column.factor || 1;
  const times = (figure) => (figure === null ? null : figure * factor);
  return value && { mean: times(value.mean), half: times(value.half), low: times(value.low), high: times(value.high), count: value.count };
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
  const parts = [scroller("Table of the cases", table), intervalNote(rows)].filter(Boolean);
  if (!rows.length) parts.push(nothingIn("Nothing is selected that fits."));
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
    const range = value && value.count > 1 ? `${text(value.low)} to ${text(value.high)} over ${plural(value.count, "run")}` : null;
    const title = [range, column.reasons ? reasons(point, column.reasons) : null].filter(Boolean).join("; ") || null;
    return make("td", { class: bar ? "figure barred" : "figure", style: bar, title }, ...figureText(value, text));
  });
  return pointRow(point, { "data-key": point.key }, ...names, ...figures);
}

/** A mean, and softer half of its interval. */
function figureText(value, text) {
  if (!value) return ["–"];
  const [middle, half] = withHalf(value.mean, value.half, text).split(" ±");
  return half === undefined ? [middle] : [middle, make("span", { class: "half", text: ` ±${half}` })];
}

/** Why packets were dropped or marked, of the first run. */
function reasons(point, kind) {
  const counts = Object.entries(point.entry.group ? {} : point.entry.item[kind] || {}).filter(([, packets]) => packets > 0);
  return counts.map(([reason, packets]) => `${reason} ${whole(packets)}`).join(", ");
}

/** Meaning of the second figure of a cell, and its number of runs. */
function intervalNote(points) {
  const counts = [...new Set(points.map((point) => point.runs.length))].sort((a, b) => a - b);
  if (!counts.length || counts[counts.length - 1] < 2) return null;
  const repeated = points.filter((point) => point.runs.length < point.entries.length).length;
  const runs = counts.length > 1 ? `${counts[0]} to ${counts[counts.length - 1]} runs` : `${counts[0]} runs`;
  const populations = [...new Set(data.folders.map((folder) => folder.population).filter(Boolean))].join("; ");
  const parts = [`±: half of the 95 % interval of the mean over ${runs}${populations ? ` (${populations})` : ""}, by Student's t.`];
  if (repeated) parts.push(`Of ${plural(repeated, "case")} some seeds gave the same run, which counts once.`);
  return make("p", { class: "note", text: parts.join(" ") });
}

function saveTable(points) {
  const quote = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const columns = shownColumns();
  const shown = sorted(points.filter(matches));
  const several = shown.some((point) => point.runs.length > 1);
  const cells = (value) => [value?.mean, ...(several ? [value?.half] : [])].map((figure) => figure?.toString() ?? "");
  const rows = shown.map((point) => [
    ...shownAxes().map((axis) => labelOf(point.entry, axis)),
    ...(several ? [String(point.runs.length)] : []),
    ...columns.flatMap((column) => cells(cell(point, column))),
  ]);
  const name = (column, what = "") => `${column.path}${what}${column.unit ? ` (${column.unit})` : ""}`;
  const names = [...(several ? ["runs"] : []), ...columns.flatMap((column) => [name(column), ...(several ? [name(column, " half interval")] : [])])];
  const lines = [[...shownAxes().map((axis) => axes[axis].name), ...names], ...rows].map((row) => row.map(quote).join(","));
  save(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }), `${fileName(data.title)}.csv`);
}
