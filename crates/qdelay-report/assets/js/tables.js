"use strict";
// Parts of tables: headings, rows and cells of points, figures over seeds, boxes of quartiles.

/** A heading: title, unit, and its meaning beside the pointer. */
const headCell = ({ title = "", unit = "", help = null, kind = null }) => make("th", { scope: "col", class: kind, title: help, text: unit ? `${title} (${unit})` : title });
const figureHeads = (columns) => columns.map((column) => headCell({ ...column, kind: "figure" }));

/** A place that scrolls by itself. */
const scroller = (label, table) => make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table);

/** A table of rows, of which there may be too many; `row(item, at)` makes one. */
const plainTable = (label, kind, heads, rows, row) => scroller(label, make("table", { class: `plain ${kind}`.trim() },
  make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...limited(rows, row, heads.length))));

const nothingIn = (text) => make("p", { class: "empty", text });

/** The selected cases once, not again for their groups of flows. */
function casesOnce(points) {
  const seen = new Set();
  const isNew = (point) => { const cases = point.entries.map((entry) => entry.index).join(","); return !seen.has(cases) && seen.add(cases); };
  return points.filter(isNew).map((point) => ({ point, label: describe(point.entry, [FLOWS]) }));
}

/** A row that points at its point in every plot. */
const pointRow = (point, attributes, ...cells) => make("tr", { ...attributes, onmouseenter: () => pointAt(point.key), onmouseleave: () => pointAt(null) }, ...cells);
const isFirstOf = (rows, at) => at === 0 || rows[at - 1].point !== rows[at].point;
/** The mark and the label of a point, in the first of its rows. */
const pointCell = (point, label, isFirst = true) => make("td", { class: "text" }, ...(isFirst ? [swatch(colourOf(point.colour), shapeOf(point.shape)), ` ${label}`] : []));
const textCell = (text) => make("td", { class: "text", text });
const figureCell = (text) => make("td", { class: "figure", text });

/** A figure in the unit of its column. */
const columnText = ({ text = number, factor = 1 }, value) => (value === null || value === undefined ? number(null) : text(value * factor));

/** The mean over those entries that have a figure; null without any. */
function meanOver(entries, figureOf) {
  const there = entries.map(figureOf).filter((value) => value !== null && value !== undefined);
  return there.length ? mean(there) : null;
}

/** The value at a dotted path. */
const atPath = (object, path) => path.split(".").reduce((at, key) => (at ? own(at, key) : null), object);

/** A box from quartile to quartile on a line from the lowest to the highest of five values; `place(value)` is in percent. */
function quartileBox(kind, title, [low, p25, p50, p75, high], place, colour, zero = null) {
  const at = (value) => `left:${place(value).toFixed(2)}%`;
  const part = (kind, from, to) => make("span", { class: kind, style: `${at(from)};width:${(place(to) - place(from)).toFixed(2)}%;background:${colour}` });
  return make("div", { class: kind, title }, zero === null ? null : make("span", { class: "zero", style: at(zero) }),
    part("range", low, high), part("quartiles", p25, p75), make("span", { class: "median", style: at(p50) }));
}
