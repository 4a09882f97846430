"use strict";
// Elements, numbers and colours. Later files use the names of earlier ones.

/** An element; `attributes` may hold `text`, `class` and handlers (`onclick`). Text is only ever set as text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value === "boolean") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Three significant digits, thousands apart by a thin space. */
function number(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1000) return whole(value);
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  if (size >= 1 || size === 0) return value.toFixed(size === 0 ? 0 : 2);
  return Number(value.toPrecision(3)).toString();
}

/** What `number` says, and half of its interval with as many decimals: "12.3 ±0.4". */
function withHalf(value, half, text = number) {
  if (half === null || half === undefined || value === null) return text(value);
  if (text !== number) return `${text(value)} ±${text(half)}`;
  const said = number(value);
  const decimals = (said.split(".")[1] || "").length;
  return `${said} ±${half >= 1000 ? whole(half) : half.toFixed(decimals)}`;
}

/** A count: no decimals, thousands apart by a thin space. */
const whole = (value) => (value === null || value === undefined ? "–" : Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f"));

/** A short number for an axis: no trailing zeros. */
const tick = (value) => (Math.abs(value) >= 1e4 ? number(value) : String(Number(value.toPrecision(6))));

/** A percentage that may be close to 100. */
const percentText = (value) => `${Number(value.toFixed(value > 99.9 ? 3 : value > 99 ? 2 : 1))}\u202f%`;

/** What users named is looked up without what every object has. */
const own = (object, key) => (Object.hasOwn(object, key) ? object[key] : null);

const MOST_ROWS = 300; // of a table that nobody sorts

/** The rows of `items`, or so many of them and one that says how many are left out. */
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

const darkQuery = matchMedia("(prefers-color-scheme: dark)");
let printing = false;

const known = {}; // asking the browser takes long
/** A colour of the style sheet. */
const styled = (name) => (known[`${name} ${darkQuery.matches && !printing}`] ||= getComputedStyle(document.documentElement).getPropertyValue(name).trim());
const colourOf = (index) => styled(`--c${index % 8}`);
const dashOf = (index) => DASHES[index % DASHES.length];
const shapeOf = (index) => SHAPES[index % SHAPES.length];

/** What canvases need of the style sheet. */
function theme() {
  return { text: styled("--text"), soft: styled("--soft"), grid: styled("--grid"), surface: styled("--surface"), area: styled("--area"), drops: styled("--drops"), marks: styled("--marks") };
}

/** `colour` (#rrggbb) so much covered. */
function faint(colour, opacity) {
  const part = (at) => parseInt(colour.slice(at, at + 2), 16);
  return `rgba(${part(1)}, ${part(3)}, ${part(5)}, ${opacity})`;
}

/** The path of a marker around (x, y). */
function traceShape(ctx, shape, x, y, radius) {
  const polygon = (corners) => corners.forEach(([dx, dy], at) => ctx[at ? "lineTo" : "moveTo"](x + dx * radius, y + dy * radius));
  ctx.beginPath();
  if (shape === "square") ctx.rect(x - 0.85 * radius, y - 0.85 * radius, 1.7 * radius, 1.7 * radius);
  else if (shape === "triangle") polygon([[0, -1.15], [1.05, 0.8], [-1.05, 0.8]]), ctx.closePath();
  else if (shape === "diamond") polygon([[0, -1.25], [1.15, 0], [0, 1.25], [-1.15, 0]]), ctx.closePath();
  else if (shape === "cross") {
    polygon([[-0.9, -0.9], [0.9, 0.9]]);
    polygon([[-0.9, 0.9], [0.9, -0.9]]);
  } else ctx.arc(x, y, radius, 0, 2 * Math.PI);
}

/** Fills a marker, or draws those that are lines. */
function drawShape(ctx, shape, x, y, radius, colour, around, scale = 1) {
  traceShape(ctx, shape, x, y, radius);
  const open = shape === "cross" || shape === "ring";
  ctx.setLineDash([]);
  ctx.lineWidth = (open ? 2.4 : 1.5) * scale;
  ctx.strokeStyle = open ? colour : around;
  ctx.fillStyle = shape === "ring" ? around : colour;
  if (shape !== "cross") ctx.fill();
  ctx.stroke();
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

/** Hands `content` to the browser as a file. */
function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const fileName = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 80) || "plot";
