"use strict";
// Packets of each codepoint at the bottleneck, of each hop before it, and of each direction of a link: a row for each of them in each
// selected case.

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
  { id: "directions", title: "Directions", one: "Direction", columns: [RATE_COLUMN, UTILIZATION_COLUMN, LOSS_COLUMN, ...COUNT_COLUMNS], hasReasons: true },
  { id: "hops", title: "Hops", one: "Hop", columns: [RATE_COLUMN, UTILIZATION_COLUMN, LOSS_COLUMN, ...DELAY_COLUMNS, ...COUNT_COLUMNS] },
].map((kind) => ({ ...kind, names: partNames(kind.id), place: make("div") }));

/** The names that any case of the page has. */
const knownParts = PARTS.filter((kind) => kind.names.length);

function partNames(id) {
  return [...new Set(data.cases.flatMap((item) => (item[id] || []).map(([name]) => name)))];
}

/** Why packets of a part were dropped, in the first run. */
const partReasons = ({ point, name }, id) => (point.entries[0].item[id] || []).find(([known]) => known === name)?.[1].reasons || "";

/** A figure of a part over the seeds of a point; null where no case has it. */
const partFigure = (point, id, name, path) => meanOver(point.entries, ({ item }) => atPath((item[id] || []).find(([known]) => known === name)?.[1], path));

function partTable(points, kind) {
  const value = ({ point, name }, path) => partFigure(point, kind.id, name, path);
  const rows = casesOnce(points).flatMap((one) => kind.names.map((name) => ({ ...one, name }))).filter((row) => value(row, "arrived") !== null);
  if (!rows.length) return nothingIn(`Nothing is selected that has ${kind.id}.`);
  const columns = kind.columns.filter((column) => !column.ifAny || rows.some((row) => value(row, column.path)));
  return plainTable(kind.title, "stages", [headCell({}), headCell({ title: kind.one }), ...figureHeads(columns), ...(kind.hasReasons ? [headCell({ title: "Reasons", help: "Drops by reason" })] : [])], rows, (row, at) => (
    pointRow(row.point, { "data-part": row.name }, pointCell(row.point, row.label, isFirstOf(rows, at)), textCell(row.name),
      ...columns.map((column) => figureCell(columnText(column, value(row, column.path)))),
      ...(kind.hasReasons ? [textCell(partReasons(row, kind.id))] : []))));
}

function renderParts(points) {
  for (const kind of knownParts) kind.place.replaceChildren(partTable(points, kind));
}
