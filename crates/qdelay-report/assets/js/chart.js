"use strict";
// Elements, numbers, colours, scales and canvases: shared by the report's page and the playground, which join it with their own scripts.

/** An element; `attributes` may hold `text`, `class` and handlers (`onclick`). Text is only ever set as text. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value === "boolean") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** A count: no decimals, thousands apart by a thin space. */
export const whole = (value) => (value === null || value === undefined ? "–" : Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f"));

/** Three significant digits, thousands apart by a thin space. */
export function number(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1000) return whole(value);
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  if (size >= 1 || size === 0) return value.toFixed(size === 0 ? 0 : 2);
  return Number(value.toPrecision(3)).toString();
}

const darkQuery = matchMedia("(prefers-color-scheme: dark)");
const knownColours = {}; // asking the browser takes long
/** A colour of the style sheet, which is light on paper. */
export function styled(name) {
  const root = document.documentElement;
  const isDark = darkQuery.matches && !root.classList.contains("printing");
  return (knownColours[`${name} ${isDark}`] ||= getComputedStyle(root).getPropertyValue(name).trim());
}

export const FACES = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif';

/** Share of the way from `low` to `high`, 0 to 1 between them; `log`: equal distances are equal ratios. */
export const shareOf = ({ low, high, log }, value) => (log ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : (value - low) / (high - low));

/** Steps within a power of ten, the finer the fewer powers there are. */
const LOG_STEPS = [[3.2, [1]], [1.4, [1, 2, 5]], [0.7, [1, 1.5, 2, 3, 5, 7]], [0, [1, 1.2, 1.5, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]]];

/** Ticks of a logarithmic axis: 1, 2, 5 and their tens, only the tens where there are many; finer ones only with `isFine`. */
export function logTicks(low, high, isFine = true) {
  const decades = Math.log10(high / low);
  const [, steps] = LOG_STEPS.find(([least], at) => decades > least || (at === 1 && !isFine)) ?? LOG_STEPS.at(-1);
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const step of steps) {
      const value = Number((step * 10 ** power).toPrecision(3));
      if (value >= low * 0.999 && value <= high * 1.001) ticks.push(value);
    }
  }
  return ticks;
}

/** Draws within a rectangle. */
export function clipped(ctx, [left, top, width, height], work) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  work();
  ctx.restore();
}

/** Adds a line through points to the path; a gap where a point is null. */
export function tracePoints(ctx, points) {
  let isOpen = false;
  for (const point of points) {
    if (point) ctx[isOpen ? "lineTo" : "moveTo"](...point);
    isOpen = point !== null;
  }
}

/** Text over lines: an edge of the surface keeps it readable. */
export function haloText(ctx, text, [x, y], fill, scale) {
  ctx.lineJoin = "round";
  ctx.setLineDash([]);
  ctx.strokeStyle = styled("--surface");
  ctx.lineWidth = 3 * scale;
  ctx.strokeText(text, x, y);
  ctx.fillStyle = fill;
  ctx.fillText(text, x, y);
}

/** The path of a marker around (x, y). */
function traceShape(ctx, shape, x, y, radius) {
  const polygon = (corners) => tracePoints(ctx, corners.map(([dx, dy]) => [x + dx * radius, y + dy * radius]));
  ctx.beginPath();
  if (shape === "square") ctx.rect(x - 0.85 * radius, y - 0.85 * radius, 1.7 * radius, 1.7 * radius);
  else if (shape === "triangle") polygon([[0, -1.15], [1.05, 0.8], [-1.05, 0.8]]), ctx.closePath();
  else if (shape === "diamond") polygon([[0, -1.25], [1.15, 0], [0, 1.25], [-1.15, 0]]), ctx.closePath();
  else if (shape === "cross") {
    polygon([[-0.9, -0.9], [0.9, 0.9]]);
    polygon([[-0.9, 0.9], [0.9, -0.9]]);
  } else ctx.arc(x, y, radius, 0, 2 * Math.PI);
}

/** Fills a marker, or draws those that are lines; `around`: the colour of its edge, null for none. */
export function drawShape(ctx, shape, x, y, radius, colour, around, scale = 1) {
  traceShape(ctx, shape, x, y, radius);
  const isOpen = shape === "cross" || shape === "ring";
  ctx.setLineDash([]);
  ctx.lineWidth = (isOpen ? 2.4 : 1.5) * scale;
  ctx.strokeStyle = isOpen ? colour : around;
  ctx.fillStyle = shape === "ring" ? around : colour;
  if (shape !== "cross") ctx.fill();
  if (isOpen || around) ctx.stroke();
}

/** The nearest of `items` within `most` pixels of a place; null where none is. `placeOf(item)` has its pixels. */
export function nearest(items, [x, y], placeOf, most) {
  let [best, least] = [null, most];
  for (const item of items) {
    const [left, top] = placeOf(item);
    const distance = Math.hypot(left - x, top - y);
    if (distance < least) [best, least] = [item, distance];
  }
  return best;
}
