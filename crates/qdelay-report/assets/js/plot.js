"use strict";
// Frames that hold a plot while they are in view, and what all plots have in common: zoom, keys, pictures, hints.

const live = new Map(); // frame -> uPlot
let frames = [];

const viewObserver = new IntersectionObserver(
  (changes) => changes.forEach((change) => (change.isIntersecting ? show(change.target.frame) : release(change.target.frame))),
  { rootMargin: "300px 0px" },
);
const sizeObserver = new ResizeObserver((changes) => changes.forEach((change) => fit(change.target.frame)));

/**
 * A frame for a plot. `spec`: kind, name (unique, for files), title, unit, side (what it stands for among others), height, describe (what a screen reader says),
 * options() -> uPlot options, data() -> its data, key: what a picture's key shows, after(plot).
 */
function makeFrame(spec) {
  const body = make("div", { class: "plot-body", style: `height:${spec.height}px` });
  const legend = make("div", { class: "plot-legend" });
  const tools = make("div", { class: "plot-tools" },
    make("button", { class: "tool", type: "button", text: "Reset zoom", hidden: true, onclick: () => resetZoom(frame) }),
    make("button", { class: "tool", type: "button", text: "PNG", title: "Save this plot as a picture", "aria-label": `Save ${spec.title} as PNG`, onclick: () => savePicture(frame) }));
  const title = make("figcaption", {}, make("span", { class: "plot-title", text: spec.title }), spec.unit ? make("span", { class: "plot-unit", text: spec.unit }) : null,
    spec.side ? make("span", { class: "plot-side", text: spec.side }) : null);
  const element = make("figure", {
    class: `plot plot-${spec.kind}`, tabindex: "0", role: "group",
    "aria-label": `${spec.describe || spec.title}. Plus and minus zoom, arrows move, 0 shows everything.`,
    onkeydown: (event) => onKey(frame, event),
  }, make("div", { class: "plot-head" }, title, legend, tools), body);
  const frame = { spec, element, body, legend, reset: tools.firstChild };
  body.frame = frame;
  frames.push(frame);
  viewObserver.observe(body);
  sizeObserver.observe(body);
  return frame;
}

/** Forgets all frames inside of `container`, and empties it. */
function clearFrames(container) {
  frames = frames.filter((frame) => {
    if (!container.contains(frame.element)) return true;
    forget(frame);
    viewObserver.unobserve(frame.body);
    sizeObserver.unobserve(frame.body);
    return false;
  });
  container.replaceChildren();
}

/** Paper is smaller than a window. */
const heightOf = ({ spec }) => Math.round(spec.height * (printing ? 0.75 : 1));

function show(frame) {
  frame.body.style.height = `${heightOf(frame)}px`;
  if (live.has(frame) || !frame.body.clientWidth) return;
  const { spec } = frame;
  const options = { width: frame.body.clientWidth, height: heightOf(frame), pxAlign: 1, ...spec.options(frame) };
  const plot = new uPlot(options, spec.data(frame), frame.body);
  live.set(frame, plot);
  if (spec.after) spec.after(plot, frame);
}

/** Frames out of view have no plot, except on paper. */
function release(frame) {
  if (!printing) forget(frame);
}

function forget(frame) {
  const plot = live.get(frame);
  if (!plot) return;
  live.delete(frame);
  plot.destroy();
  frame.body.replaceChildren();
}

function fit(frame) {
  const plot = live.get(frame);
  const width = frame.body.clientWidth;
  // On paper they have the size that they were drawn at, and the style sheet fits them in.
  if (printing) return;
  if (plot && width && width !== plot.width) plot.setSize({ width, height: heightOf(frame) });
  else if (!plot && frame.body.getBoundingClientRect().top < innerHeight + 300 && frame.body.getBoundingClientRect().bottom > -300) show(frame);
}

/** After a change of colours and sizes: the same plots with the same zoom. */
function redrawAll() {
  const shown = [...live].map(([frame, plot]) => ({ frame, zoomed: isZoomed(frame, plot), ...plot.scales.x }));
  shown.forEach(({ frame }) => forget(frame));
  for (const { frame, zoomed, min, max } of shown) {
    show(frame);
    if (zoomed && live.has(frame)) live.get(frame).setScale("x", { min, max });
  }
}

// ---- scales and axes

/** Ticks of a logarithmic axis, for uPlot. */
const logSplits = (plot, axis, low, high) => logTicks(low, high);

function axisOptions(extra) {
  const colours = theme();
  return {
    stroke: colours.soft, font: "11.5px system-ui, sans-serif", labelFont: "11.5px system-ui, sans-serif",
    grid: { stroke: colours.grid, width: 1 }, ticks: { stroke: colours.grid, width: 1, size: 4 }, gap: 4, labelGap: 0,
    ...extra,
  };
}

/** The title of an axis, which says where it begins unless that is at zero or it is logarithmic. */
const axisLabel = (key, title, factor = 1) => (plot) => {
  const { min, distr } = plot.scales[key];
  return distr === 3 || !(min > 0) ? title : `${title}, axis from ${number(min * factor)}, not 0`;
};

/** Room for the widest number of a vertical axis. */
const axisSize = (plot, values) => 16 + 6.6 * Math.max(1, ...(values || []).filter(Boolean).map((text) => String(text).length));

/** The range of an x scale: what was asked for, or `home` where that is all there is. */
const homeRange = (home) => (plot, low, high) => {
  const xs = plot.data[0];
  const all = low === null || (low <= xs[0] && high >= xs[xs.length - 1]);
  return all ? home : [low, high];
};

/** A range around values, no lower than 0. */
function padded(low, high, share = 0.08) {
  const room = (high - low || Math.abs(high) || 1) * share;
  return [Math.max(0, low - room), high + room];
}

/** The same where equal distances are equal ratios. */
function paddedLog(low, high) {
  const room = Math.max((high / low) ** 0.06, 1.12);
  return [low / room, high * room];
}

// ---- zoom

let timeRange = null; // what all time plots show; null is all

function isZoomed(frame, plot) {
  const xs = plot.data[0];
  const { min, max } = plot.scales.x;
  // A plot that was made just now has no range yet.
  return xs.length > 1 && min !== null && (min > xs[0] || max < xs[xs.length - 1]);
}

/** Hook: shows the way back, and moves the other time plots along. */
function onScale(frame, plot, key) {
  if (key !== "x") return;
  const zoomed = isZoomed(frame, plot);
  frame.reset.hidden = !zoomed;
  if (!frame.spec.time) return;
  const { min, max } = plot.scales.x;
  const range = zoomed ? [min, max] : null;
  if (String(range) === String(timeRange)) return;
  timeRange = range;
  remember();
  for (const [other, otherPlot] of live) if (other !== frame && other.spec.time) applyTimeRange(otherPlot);
}

function applyTimeRange(plot) {
  const xs = plot.data[0];
  const [min, max] = timeRange || [xs[0], xs[xs.length - 1]];
  plot.setScale("x", { min, max });
}

function resetZoom(frame) {
  const plot = live.get(frame);
  if (!plot) return;
  const xs = plot.data[0];
  plot.setScale("x", { min: xs[0], max: xs[xs.length - 1] });
}

function onKey(frame, event) {
  const plot = live.get(frame);
  if (!plot || event.target !== frame.element || event.ctrlKey || event.metaKey || event.altKey) return;
  const moves = { "+": [0.2, -0.2], "=": [0.2, -0.2], "-": [-1 / 3, 1 / 3], ArrowLeft: [-0.15, -0.15], ArrowRight: [0.15, 0.15] };
  if (event.key === "0" || event.key === "Escape") resetZoom(frame);
  else if (moves[event.key]) moveScale(plot, moves[event.key]);
  else return;
  event.preventDefault();
}

/** Moves both ends by shares of the width, not beyond the data. */
function moveScale(plot, [left, right]) {
  const scale = plot.scales.x;
  const [into, out] = scale.distr === 3 ? [Math.log, Math.exp] : [Number, Number];
  const [low, high] = [into(scale.min), into(scale.max)];
  const xs = plot.data[0];
  const min = Math.max(out(low + left * (high - low)), xs[0]);
  const max = Math.min(out(high + right * (high - low)), xs[xs.length - 1]);
  if (max > min) plot.setScale("x", { min, max });
}

// ---- the hint beside the pointer

const hint = make("div", { class: "hint", role: "status", hidden: true });

function showHint(plot, left, top, title, rows) {
  hint.replaceChildren(make("div", { class: "hint-title" }, ...title),
    make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", { text: name }), make("dd", { text: value })])));
  hint.hidden = false;
  const box = plot.over.getBoundingClientRect();
  const x = Math.min(box.left + left + 16, document.documentElement.clientWidth - hint.offsetWidth - 8);
  const y = box.top + top + 16 + hint.offsetHeight > innerHeight ? box.top + top - hint.offsetHeight - 12 : box.top + top + 16;
  hint.style.transform = `translate(${Math.max(8, x)}px, ${Math.max(8, y)}px)`;
}

const hideHint = () => { hint.hidden = true; };

// ---- what one points at, in every plot and in the table

let pointed = null;

function pointAt(key) {
  if (key === pointed) return;
  pointed = key;
  for (const [frame, plot] of live) if (frame.spec.onPointed) frame.spec.onPointed(plot, key);
  for (const row of document.querySelectorAll("tr[data-key]")) row.classList.toggle("pointed", row.dataset.key === key);
}

// ---- pictures

/** The plot with its title and its key, as PNG. */
function savePicture(frame) {
  show(frame);
  const plot = live.get(frame);
  if (plot) pictureOf(frame, plot).toBlob((blob) => save(blob, `${fileName(frame.spec.name)}.png`));
}

function pictureOf(frame, plot) {
  const source = plot.ctx.canvas;
  const scale = source.width / plot.width;
  const key = frame.spec.key ? frame.spec.key() : [];
  const rows = keyRows(key, plot.width - 32);
  const top = 34 + rows.length * 19 + (rows.length ? 6 : 0);
  const canvas = make("canvas", { width: String(source.width + 16 * scale), height: String(source.height + (top + 8) * scale) });
  const ctx = canvas.getContext("2d");
  const colours = theme();
  ctx.fillStyle = colours.surface;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.save();
  ctx.scale(scale, scale);
  ctx.fillStyle = colours.text;
  ctx.textBaseline = "middle";
  ctx.font = "600 14px system-ui, sans-serif";
  ctx.fillText([frame.spec.title, frame.spec.unit].filter(Boolean).join(", "), 16, 18);
  drawKey(ctx, rows, colours);
  ctx.restore();
  ctx.drawImage(source, 8 * scale, top * scale);
  return canvas;
}

/** The items of a key in lines of `width` pixels. */
function keyRows(key, width) {
  const ctx = make("canvas").getContext("2d");
  ctx.font = "12px system-ui, sans-serif";
  const rows = [];
  let left = width;
  for (const item of key) {
    const space = 34 + ctx.measureText(item.text).width + 16;
    if (left + space > width) rows.push([]), (left = 0);
    rows[rows.length - 1].push({ ...item, left });
    left += space;
  }
  return rows;
}

function drawKey(ctx, rows, colours) {
  ctx.font = "12px system-ui, sans-serif";
  rows.forEach((row, line) => row.forEach((item) => {
    const [x, y] = [16 + item.left, 42 + line * 19];
    ctx.strokeStyle = item.colour;
    ctx.lineWidth = 2;
    ctx.setLineDash(item.dash || []);
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.lineTo(x + 26, y);
    if (item.dash) ctx.stroke();
    if (item.shape) drawShape(ctx, item.shape, x + 13, y, 4, item.colour, colours.surface);
    ctx.fillStyle = colours.text;
    ctx.fillText(item.text, x + 32, y);
  }));
}

/** The key of points: what colours stand for, then what shapes and dashes stand for. */
function pointKey(points, { lines }) {
  const items = new Map();
  const add = (axis, label, item) => items.set(`${axis} ${label}`, { text: axes[axis].labels[label], ...item });
  const used = (axis) => [...new Set(points.map((point) => point.entry.at[axis]))].sort((a, b) => a - b);
  if (state.colour >= 0) used(state.colour).forEach((label) => add(state.colour, label, { colour: colourOf(label), dash: [] }));
  if (state.shape >= 0 && state.shape !== state.colour) {
    const soft = theme().soft;
    used(state.shape).forEach((label) => add(state.shape, label, { colour: soft, shape: lines ? null : shapeOf(label), dash: lines ? dashOf(label) : null }));
  }
  return [...items.values()];
}
