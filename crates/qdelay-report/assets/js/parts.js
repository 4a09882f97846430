"use strict";
// What became of packets of each codepoint at the bottleneck, and what happened at each hop before it: a row for each of them in
// each selected case.

const DELAY_COLUMNS = [
  { title: "Mean", unit: "ms", path: "delay.mean", help: "Queue delay, mean" },
  { title: "p50", unit: "ms", path: "delay.p50", help: "Queue delay, median" },
  { title: "p95", unit: "ms", path: "delay.p95", help: "Queue delay, 95th percentile" },
  { title: "p99", unit: "ms", path: "delay.p99", help: "Queue delay, 99th percentile" },
  { title: "Max", unit: "ms", path: "delay.max", help: "Queue delay, maximum" },
];
const LOSS_COLUMN = { title: "Loss", unit: "%", path: "loss", factor: 100, help: "Packets dropped over packets that came, whole run" };
const COUNT_COLUMNS = [
  { title: "Arrived", unit: "", path: "arrived", text: whole, help: "Packets that came to the queue, whole run" },
  { title: "Dropped", unit: "", path: "dropped", text: whole, help: "Packets dropped, whole run" },
  { title: "Marked", unit: "", path: "marked", text: whole, help: "Packets marked, whole run", ifAny: true },
];
const RATE_COLUMN = { title: "Throughput", unit: "Mbit/s", path: "throughput", help: "IP bytes that left" };
const UTILIZATION_COLUMN = { title: "Util.", unit: "%", path: "utilization", factor: 100, help: "Bytes sent over bytes its link offered" };

/** The kinds of parts that a page may tell of. */
const PARTS = [
  { id: "codepoints", title: "Codepoints", one: "Codepoint", columns: [RATE_COLUMN, LOSS_COLUMN, ...DELAY_COLUMNS, ...COUNT_COLUMNS] },
  { id: "hops", title: "Hops", one: "Hop", columns: [RATE_COLUMN, UTILIZATION_COLUMN, LOSS_COLUMN, ...DELAY_COLUMNS, ...COUNT_COLUMNS] },
].map((kind) => ({ ...kind, names: partNames(kind.id), place: make("div") }));

/** Those that any case of the page has. */
const knownParts = PARTS.filter((kind) => kind.names.length);

function partNames(id) {
  return [...new Set(data.cases.flatMap((item) => (item[id] || []).map(([name]) => name)))];
}

/** A figure of a part over the seeds of a point; null where no case has it. */
function partFigure(point, id, name, path) {
  const part = (entry) => (entry.item[id] || []).find(([known]) => known === name)?.[1];
  const of = (entry) => path.split(".").reduce((at, key) => (at ? at[key] : null), part(entry));
  const there = point.entries.map(of).filter((value) => value !== null && value !== undefined);
  return there.length ? mean(there) : null;
}

function partRows(points, { id, names }) {
  // Cases once, not again for their groups of flows.
  const seen = new Set();
  const rows = [];
  for (const point of points) {
    const cases = point.entries.map((entry) => entry.index).join(",");
    if (seen.has(cases)) continue;
    seen.add(cases);
    const label = describe(point.entry, [FLOWS]);
    rows.push(...names.filter((name) => partFigure(point, id, name, "arrived") !== null).map((name) => ({ point, label, name })));
  }
  return rows;
}

function partTable(points, kind) {
  const rows = partRows(points, kind);
  if (!rows.length) return [make("p", { class: "empty", text: `Nothing is selected that has ${kind.id}.` })];
  const columns = kind.columns.filter((column) => !column.ifAny || rows.some((row) => partFigure(row.point, kind.id, row.name, column.path)));
  const head = (text, help, of) => make("th", { scope: "col", class: of, title: help, text });
  const table = make("table", { class: "plain stages" },
    make("thead", {}, make("tr", {}, head(""), head(kind.one),
      ...columns.map((column) => head(column.unit ? `${column.title} (${column.unit})` : column.title, column.help, "figure")))),
    make("tbody", {}, ...limited(rows, (row, at) => partRow(row, kind, columns, at === 0 || rows[at - 1].point !== row.point), 2 + columns.length)));
  return [make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": kind.title }, table)];
}

function partRow({ point, label, name }, { id }, columns, isFirst) {
  const text = (column) => {
    const value = partFigure(point, id, name, column.path);
    return value === null ? number(null) : (column.text || number)(value * (column.factor || 1));
  };
  return make("tr", { "data-part": name, onmouseenter: () => pointAt(point.key), onmouseleave: () => pointAt(null) },
    make("td", { class: "text" }, ...(isFirst ? [swatch(colourOf(point.colour), shapeOf(point.shape)), ` ${label}`] : [])),
    make("td", { class: "text", text: name }),
    ...columns.map((column) => make("td", { class: "figure", text: text(column) })));
}

function renderParts(points) {
  for (const kind of knownParts) kind.place.replaceChildren(...partTable(points, kind));
}
