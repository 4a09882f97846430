"use strict";
// Slices of a cell, their share, and their lending and borrowing: a row for each slice of each selected case.

/** The slices that any case of the page has. */
const sliceNames = [...new Set(data.cases.flatMap((item) => Object.keys(item.slices || {})))];

const SHARE_COLUMN = { title: "Share", unit: "%", path: "share", factor: 100, help: "Of the resource blocks that carry new data" };
const SLICE_COLUMNS = [
  { title: "Throughput", unit: "Mbit/s", path: "throughput", help: "Bytes of its packets that the MAC took" },
  { title: "Used", unit: "%", path: "used", factor: 100, help: "Resource blocks with its data, of those that it was granted" },
  { title: "Lent", unit: "%", path: "lent", factor: 100, help: "What others got of those; below zero what it got of others'" },
  { title: "Borrowed", unit: "%", path: "borrowed", factor: 100, help: "Beyond its minimum, over the averaging windows" },
  { title: "Idle, dedicated", unit: "%", path: "dedicated", factor: 100, help: "Dedicated to it and idle, while another slice below its maximum had data" },
  { title: "Wasted", unit: "%", path: "wasted", factor: 100, help: "Charged to it and used by nobody, while it had no more data" },
  { title: "Unfit", unit: "%", path: "unfit", factor: 100, help: "Charged to it and used by nobody, although it had more data" },
];
const QUANTUM = ["min", "p25", "p50", "p75", "max"];

/** A figure of a slice over the seeds of a point. */
const sliceFigure = (point, name, path) => meanOver(point.entries, ({ item }) => atPath(own(item.slices || {}, name), path));

function sliceRows(points) {
  const rows = casesOnce(points).flatMap((one) => sliceNames.map((name) => ({ ...one, name }))).filter(({ point, name }) => sliceFigure(point, name, "share") !== null);
  return rows.map((row) => {
    const quantum = QUANTUM.map((part) => sliceFigure(row.point, row.name, `quantum.${part}`));
    return { ...row, quantum: quantum.includes(null) ? null : quantum };
  });
}

function sliceTable(points) {
  const rows = sliceRows(points);
  if (!rows.length) return nothingIn("Nothing is selected that has slices.");
  const quanta = rows.flatMap((row) => row.quantum || []);
  const scale = quanta.length ? { least: Math.min(0, ...quanta), most: Math.max(0, ...quanta) } : null;
  const columns = [SHARE_COLUMN, ...SLICE_COLUMNS.filter((column) => rows.some((row) => sliceFigure(row.point, row.name, column.path)))];
  const quantumHelp = "What it had lent, or, below zero, borrowed, in resource blocks over the TTIs: least, quartiles with the median, most";
  const heads = [headCell({}), headCell({ title: "Slice" }), ...figureHeads(columns),
    ...(scale ? [headCell({ title: "Quantum (RBs)", help: quantumHelp }), headCell({ title: "Median", help: "Of the quantum", kind: "figure" })] : [])];
  return plainTable("Slices", "stages slices", heads, rows, (row, at) => sliceRow(row, columns, scale, isFirstOf(rows, at)));
}

function sliceRow({ point, label, name, quantum }, columns, scale, isFirst) {
  return pointRow(point, { "data-slice": name }, pointCell(point, label, isFirst), textCell(name),
    ...columns.map((column) => figureCell(columnText(column, sliceFigure(point, name, column.path)))),
    ...(scale ? [make("td", { class: "quantum" }, quantum ? quantumBox(quantum, scale, colourOf(point.colour)) : null), figureCell(number(quantum && quantum[2]))] : []));
}

/** The box of a quantum, with a mark at zero. */
function quantumBox(five, { least, most }, colour) {
  const [min, p25, p50, p75, max] = five.map(number);
  const place = (value) => (100 * (value - least)) / (most - least || 1);
  return quartileBox("quantum-box", `${min} to ${max}, quartiles ${p25}, ${p50}, ${p75}`, five, place, colour, 0);
}
