"use strict";
// What the slices of a cell got, and how far they lent and borrowed: a row for each slice of each selected case.

/** The slices that any case of the page has. */
const sliceNames = [...new Set(data.cases.flatMap((item) => Object.keys(item.slices || {})))];

const SLICE_COLUMNS = [
  { title: "Throughput", unit: "Mbit/s", path: "throughput", help: "Bytes of its packets that the MAC took" },
  { title: "Used", unit: "%", path: "used", factor: 100, help: "Resource blocks with its data, of those that it was granted" },
  { title: "Lent", unit: "%", path: "lent", factor: 100, help: "What others got of those; below zero what it got of others'" },
  { title: "Wasted", unit: "%", path: "wasted", factor: 100, help: "Charged to it and used by nobody, while it had no more data" },
  { title: "Unfit", unit: "%", path: "unfit", factor: 100, help: "Charged to it and used by nobody, although it had more data" },
];
const QUANTUM = ["min", "p25", "p50", "p75", "max"];

/** A figure of a slice over the seeds of a point. */
function sliceFigure(point, name, path) {
  const part = (entry) => path.split(".").reduce((at, key) => (at ? own(at, key) : null), own(entry.item.slices || {}, name));
  const there = point.entries.map(part).filter((value) => value !== null);
  return there.length ? mean(there) : null;
}

function sliceRows(points) {
  // Cases once, not again for their groups of flows.
  const seen = new Set();
  const rows = [];
  for (const point of points) {
    const cases = point.entries.map((entry) => entry.index).join(",");
    if (seen.has(cases)) continue;
    seen.add(cases);
    const label = describe(point.entry, [FLOWS]);
    for (const name of sliceNames.filter((name) => sliceFigure(point, name, "share") !== null)) {
      const quantum = QUANTUM.map((part) => sliceFigure(point, name, `quantum.${part}`));
      rows.push({ point, label, name, quantum: quantum.includes(null) ? null : quantum });
    }
  }
  return rows;
}

function sliceTable(points) {
  const rows = sliceRows(points);
  if (!rows.length) return [make("p", { class: "empty", text: "Nothing is selected that has slices." })];
  const quanta = rows.flatMap((row) => row.quantum || []);
  const scale = quanta.length ? { least: Math.min(0, ...quanta), most: Math.max(0, ...quanta) } : null;
  const columns = SLICE_COLUMNS.filter((column) => rows.some((row) => sliceFigure(row.point, row.name, column.path)));
  const head = (text, help, kind) => make("th", { scope: "col", class: kind, title: help, text });
  const quantumHelp = "What it had lent, or, below zero, borrowed, in resource blocks over the TTIs: least, quartiles with the median, most";
  const table = make("table", { class: "plain stages slices" },
    make("thead", {}, make("tr", {}, head(""), head("Slice"), head("Share (%)", "Of the resource blocks that carry new data", "figure"),
      ...columns.map((column) => head(`${column.title} (${column.unit})`, column.help, "figure")),
      ...(scale ? [head("Quantum (RBs)", quantumHelp), head("Median", "Of the quantum", "figure")] : []))),
    make("tbody", {}, ...limited(rows, (row, at) => sliceRow(row, columns, scale, at === 0 || rows[at - 1].point !== row.point), 3 + columns.length + (scale ? 2 : 0))));
  return [make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Slices" }, table)];
}

function sliceRow({ point, label, name, quantum }, columns, scale, isFirst) {
  const percent = (value) => (value === null ? null : 100 * value);
  const text = (column) => {
    const value = sliceFigure(point, name, column.path);
    return number(value === null ? null : value * (column.factor || 1));
  };
  return make("tr", { "data-slice": name, onmouseenter: () => pointAt(point.key), onmouseleave: () => pointAt(null) },
    make("td", { class: "text" }, ...(isFirst ? [swatch(colourOf(point.colour), shapeOf(point.shape)), ` ${label}`] : [])),
    make("td", { class: "text", text: name }),
    make("td", { class: "figure", text: number(percent(sliceFigure(point, name, "share"))) }),
    ...columns.map((column) => make("td", { class: "figure", text: text(column) })),
    ...(scale ? [make("td", { class: "quantum" }, quantum ? quantumBox(quantum, scale, colourOf(point.colour)) : null),
      make("td", { class: "figure", text: number(quantum && quantum[2]) })] : []));
}

/** A box from quartile to quartile on a line from the least to the most, before a mark at zero. */
function quantumBox([min, p25, p50, p75, max], { least, most }, colour) {
  const place = (value) => (100 * (value - least)) / (most - least || 1);
  const part = (kind, from, to) => make("span", { class: kind, style: `left:${place(from).toFixed(2)}%;width:${(place(to) - place(from)).toFixed(2)}%;background:${colour}` });
  return make("div", { class: "quantum-box", title: `${number(min)} to ${number(max)}, quartiles ${number(p25)}, ${number(p50)}, ${number(p75)}` },
    make("span", { class: "zero", style: `left:${place(0).toFixed(2)}%` }), part("range", min, max), part("quartiles", p25, p75),
    make("span", { class: "median", style: `left:${place(p50).toFixed(2)}%` }));
}
