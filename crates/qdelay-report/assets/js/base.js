"use strict";
// Numbers, colours and keys. Later files use the names of earlier ones, `chart.js` first.

/** A figure as `number` writes it, and half of its interval with as many decimals: "12.3 ±0.4". */
function withHalf(value, half, text = number) {
  if (half === null || half === undefined || value === null) return text(value);
  if (text !== number) return `${text(value)} ±${text(half)}`;
  const said = number(value);
  const decimals = (said.split(".")[1] || "").length;
  return `${said} ±${half >= 1000 ? whole(half) : half.toFixed(decimals)}`;
}

/** A short number for an axis: no trailing zeros. */
const tick = (value) => (Math.abs(value) >= 1e4 ? number(value) : String(Number(value.toPrecision(6))));

/** A percentage that may be close to 100. */
const percentText = (value) => `${Number(value.toFixed(value > 99.9 ? 3 : value > 99 ? 2 : 1))}\u202f%`;

/** Looks up a name of users without the names that every object has. */
const own = (object, key) => (Object.hasOwn(object, key) ? object[key] : null);

const MOST_ROWS = 300; // of a table without an order

/** The rows of `items`; of many the first, and a row with the number of the others. */
function limited(items, row, columns) {
  const rows = items.slice(0, MOST_ROWS).map(row);
  const left = items.length - rows.length;
  if (left > 0) rows.push(make("tr", {}, make("td", { class: "text soft", colspan: String(columns), text: `… and ${whole(left)} more; select fewer to see them` })));
  return rows;
}

const plural = (count, one, many = `${one}s`) => `${whole(count)} ${count === 1 ? one : many}`;

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3], [4, 2], [12, 3]];
const SHAPES = ["circle", "square", "triangle", "diamond", "cross", "ring"];

let printing = false;
const colourOf = (index) => styled(`--c${index % 8}`);
const dashOf = (index) => DASHES[index % DASHES.length];
const shapeOf = (index) => SHAPES[index % SHAPES.length];

/** Colours of canvases. */
function theme() {
  return { text: styled("--text"), soft: styled("--soft"), grid: styled("--grid"), surface: styled("--surface"), area: styled("--area"), drops: styled("--drops"), marks: styled("--marks") };
}

/** `colour` (#rrggbb) with this opacity. */
function faint(colour, opacity) {
  const part = (at) => parseInt(colour.slice(at, at + 2), 16);
  return `rgba(${part(1)}, ${part(3)}, ${part(5)}, ${opacity})`;
}

/** A small picture of line and marker, for keys and tables. */
function swatch(colour, shape = null, dash = null) {
  const svg = (tag, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const width = dash ? 26 : 12;
  const root = svg("svg", { width, height: 12, viewBox: `0 0 ${width} 12`, class: "swatch", "aria-hidden": "true" });
  const middle = width / 2;
  if (dash) root.append(svg("path", { d: `M1 6H${width - 1}`, stroke: colour, "stroke-width": 2, "stroke-dasharray": dash.join(" ") }));
  const marks = {
    circle: { d: `M${middle - 4} 6a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z`, fill: colour },
    square: { d: `M${middle - 3.5} 2.5h7v7h-7Z`, fill: colour },
    triangle: { d: `M${middle} 1.5L${middle + 4.6} 9.6H${middle - 4.6}Z`, fill: colour },
    diamond: { d: `M${middle} 1L${middle + 4.8} 6L${middle} 11L${middle - 4.8} 6Z`, fill: colour },
    cross: { d: `M${middle - 3.5} 2.5l7 7m0 -7l-7 7`, stroke: colour, "stroke-width": 2 },
    ring: { d: `M${middle - 3.6} 6a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0Z`, fill: "none", stroke: colour, "stroke-width": 2 },
  };
  if (shape) root.append(svg("path", marks[shape]));
  return root;
}

/** Hands `blob` to the browser as a file. */
function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const fileName = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 80) || "plot";
