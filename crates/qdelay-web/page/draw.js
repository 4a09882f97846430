// Charts on canvases: axes, lines, areas. Colours are read from the style sheet when drawing.

import { FACES, clipped, drawShape, shareOf, styled, tracePoints } from "./chart.js";

/** Font size in charts, and the scale of all elements relative to the usual page. */
let [letters, scale] = [0, 1];
const USUAL_LETTERS = 11.5;
/** Reads the font size again, after a change of the view. */
export function readStyle() {
  letters = parseFloat(getComputedStyle(document.querySelector(".picture")).fontSize);
  scale = letters / USUAL_LETTERS;
}
/** Colour and dashes of a side, distinguishable without colours too. */
export const ink = (side) => ({ colour: styled(side === 0 ? "--c0" : "--c1"), dash: side === 0 ? [] : [6, 3] });

/** A short number: no trailing zeros. */
export const short = (value) => (value >= 1e4 ? `${Number((value / 1000).toPrecision(3))}k` : String(Number(value.toPrecision(4))));

/** Round numbers from 0 to a little above `most`, about `count` of them. */
export function ticks(most, count = 4) {
  const raw = Math.max(most, 1e-9) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= raw * 0.999);
  const all = [];
  for (let at = 0; at * step < most + step * 0.999; at += 1) all.push(Number((at * step).toPrecision(8)));
  return all;
}

/** Chart with axes. `x` and `y` are scales: `{ low, high, log }`. */
export class Picture {
  constructor(canvas, { left = 46, right = 10, top = 8, bottom = 22 } = {}) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.inset = { left, right, top, bottom };
    this.x = { low: 0, high: 1 };
    this.y = { low: 0, high: 1 };
  }

  /** Resizes the canvas to its element, and clears it. */
  begin() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const ratio = Math.min(3, globalThis.devicePixelRatio || 1);
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const { context, inset } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = `${letters}px ${FACES}`;
    context.lineJoin = "round";
    this.box = { left: inset.left * scale, top: inset.top * scale, right: width - inset.right * scale, bottom: height - inset.bottom * scale };
  }

  /** True if the chart has an area; a hidden chart has none. */
  get isSeen() {
    return this.canvas.clientWidth > 0;
  }
  /** Converts pixels of the usual page to pixels of this one. */
  scaled(pixels) {
    return pixels * scale;
  }

  atX(value) {
    return this.box.left + shareOf(this.x, value) * (this.box.right - this.box.left);
  }
  atY(value) {
    return this.box.bottom - shareOf(this.y, value) * (this.box.bottom - this.box.top);
  }
  /** Values at a position of the canvas. */
  valueAt(left, top) {
    const across = (left - this.box.left) / (this.box.right - this.box.left);
    const up = (this.box.bottom - top) / (this.box.bottom - this.box.top);
    return [this.x.low + across * (this.x.high - this.x.low), this.y.low + up * (this.y.high - this.y.low)];
  }

  axes(xTicks, yTicks, { xText = short, yText = short } = {}) {
    const { context, box } = this;
    context.lineWidth = 1;
    context.strokeStyle = styled("--grid");
    context.fillStyle = styled("--soft");
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const value of yTicks) {
      const y = Math.round(this.atY(value)) + 0.5;
      if (y < box.top - 1) continue;
      this.stroke([[box.left, y], [box.right, y]]);
      context.fillText(yText(value), box.left - this.scaled(6), y);
    }
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const value of xTicks) {
      const x = Math.round(this.atX(value)) + 0.5;
      if (x < box.left - 1 || x > box.right + 1) continue;
      context.strokeStyle = styled("--grid");
      this.stroke([[x, box.top], [x, box.bottom]]);
      const text = xText(value);
      const half = context.measureText(text).width / 2;
      context.fillText(text, Math.min(Math.max(x, half + 2), this.canvas.clientWidth - half - 2), box.bottom + this.scaled(6));
    }
  }

  /** Colour, dashes and width of strokes. */
  pen(stroke, dash, weight) {
    const { context } = this;
    context.strokeStyle = stroke;
    context.setLineDash(dash.map((length) => this.scaled(length)));
    context.lineWidth = this.scaled(weight);
  }
  stroke(points) {
    this.context.beginPath();
    tracePoints(this.context, points);
    this.context.stroke();
  }

  clipped(work) {
    const { box } = this;
    clipped(this.context, [box.left, box.top - 2, box.right - box.left, box.bottom - box.top + 3], work);
  }

  /** Steps of a row of values, the first of which begins at `start`, each `width` wide. */
  steps(values, start, width, fill) {
    const { context, box } = this;
    const ends = Array.from(values, (value, at) => [at, at + 1].map((end) => [this.atX(start + end * width), this.atY(value)])).flat();
    context.beginPath();
    tracePoints(context, [[this.atX(start), box.bottom], ...ends, [this.atX(start + values.length * width), box.bottom]]);
    context.fillStyle = fill;
    context.fill();
  }

  /** Line; a null value leaves a gap. */
  line(values, start, width, { colour: stroke, dash }, weight = 1.8) {
    this.pen(stroke, dash, weight);
    this.stroke(Array.from(values, (value, at) => (value === null ? null : [this.atX(start + (at + 0.5) * width), this.atY(value)])));
    this.context.setLineDash([]);
  }

  dot(x, y, size, { fill, stroke = null, alpha = 1 }) {
    const { context } = this;
    context.globalAlpha = alpha;
    drawShape(context, "circle", this.atX(x), this.atY(y), this.scaled(size), fill, stroke, scale * 1.3);
    context.globalAlpha = 1;
  }

  note(text, x, y, align = "left", fill = styled("--soft")) {
    const { context } = this;
    context.fillStyle = fill;
    context.textAlign = align;
    context.textBaseline = "middle";
    context.fillText(text, x, y);
  }
}
