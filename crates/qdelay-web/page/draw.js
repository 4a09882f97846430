// Pictures on canvases: axes, lines, areas. Colours are those of the style sheet, at the time of drawing.

let colours = {};
/** The size of letters in pictures, and how much larger all in them is than in the usual page. */
let [letters, scale] = [0, 1];
const USUAL_LETTERS = 11.5;
/** Reads colours and size of letters anew: after a change between light and dark, or of the view. */
export function readStyle() {
  const style = getComputedStyle(document.documentElement);
  const names = ["surface", "text", "soft", "line", "grid", "area", "accent", "drops", "marks", "c0", "c1"];
  colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  letters = parseFloat(getComputedStyle(document.querySelector(".picture")).fontSize);
  scale = letters / USUAL_LETTERS;
}
export const colour = (name) => colours[name];
/** A side's colour and dashes: apart without colours too. */
export const ink = (side) => ({ colour: colours[side === 0 ? "c0" : "c1"], dash: side === 0 ? [] : [6, 3] });

const FACES = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif';

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

/** Powers of ten between two numbers, with 2 and 5 where there is room. */
export function logTicks(low, high) {
  const all = [];
  const decades = Math.log10(high / low);
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const factor of decades > 3 ? [1] : [1, 2, 5]) all.push(Number((factor * 10 ** power).toPrecision(3)));
  }
  return all.filter((value) => value >= low * 0.999 && value <= high * 1.001);
}

/** A picture with axes. `x` and `y` are scales: `{ low, high, log }`. */
export class Picture {
  constructor(canvas, { left = 46, right = 10, top = 8, bottom = 22 } = {}) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.inset = { left, right, top, bottom };
    this.x = { low: 0, high: 1 };
    this.y = { low: 0, high: 1 };
  }

  /** Makes it as large as its place, empty. */
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

  /** Whether there is room to draw in: a picture that is not shown has none. */
  get isSeen() {
    return this.canvas.clientWidth > 0;
  }
  /** Pixels of the usual page in those of this one. */
  scaled(pixels) {
    return pixels * scale;
  }

  static share(scale, value) {
    const { low, high, log } = scale;
    return log ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : (value - low) / (high - low);
  }
  atX(value) {
    return this.box.left + Picture.share(this.x, value) * (this.box.right - this.box.left);
  }
  atY(value) {
    return this.box.bottom - Picture.share(this.y, value) * (this.box.bottom - this.box.top);
  }
  /** The values at a place of the canvas. */
  valueAt(left, top) {
    const across = (left - this.box.left) / (this.box.right - this.box.left);
    const up = (this.box.bottom - top) / (this.box.bottom - this.box.top);
    return [this.x.low + across * (this.x.high - this.x.low), this.y.low + up * (this.y.high - this.y.low)];
  }

  axes(xTicks, yTicks, { xText = short, yText = short } = {}) {
    const { context, box } = this;
    context.lineWidth = 1;
    context.strokeStyle = colours.grid;
    context.fillStyle = colours.soft;
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
      context.strokeStyle = colours.grid;
      this.stroke([[x, box.top], [x, box.bottom]]);
      const text = xText(value);
      const half = context.measureText(text).width / 2;
      context.fillText(text, Math.min(Math.max(x, half + 2), this.canvas.clientWidth - half - 2), box.bottom + this.scaled(6));
    }
  }

  /** What strokes are drawn with. */
  pen(stroke, dash, weight) {
    const { context } = this;
    context.strokeStyle = stroke;
    context.setLineDash(dash.map((length) => this.scaled(length)));
    context.lineWidth = this.scaled(weight);
  }
  stroke(points) {
    this.context.beginPath();
    points.forEach(([x, y], at) => (at ? this.context.lineTo(x, y) : this.context.moveTo(x, y)));
    this.context.stroke();
  }

  clipped(work) {
    const { context, box } = this;
    context.save();
    context.beginPath();
    context.rect(box.left, box.top - 2, box.right - box.left, box.bottom - box.top + 3);
    context.clip();
    work();
    context.restore();
  }

  /** Steps of a row of values, the first of which begins at `start`, each `width` wide. */
  steps(values, start, width, fill) {
    const { context, box } = this;
    context.beginPath();
    context.moveTo(this.atX(start), box.bottom);
    values.forEach((value, at) => {
      const y = this.atY(value);
      context.lineTo(this.atX(start + at * width), y);
      context.lineTo(this.atX(start + (at + 1) * width), y);
    });
    context.lineTo(this.atX(start + values.length * width), box.bottom);
    context.fillStyle = fill;
    context.fill();
  }

  /** A line; a value that is null leaves a gap. */
  line(values, start, width, { colour: stroke, dash }, weight = 1.8) {
    const { context } = this;
    context.beginPath();
    let drawing = false;
    values.forEach((value, at) => {
      if (value === null) {
        drawing = false;
        return;
      }
      const [x, y] = [this.atX(start + (at + 0.5) * width), this.atY(value)];
      if (drawing) context.lineTo(x, y);
      else context.moveTo(x, y);
      drawing = true;
    });
    this.pen(stroke, dash, weight);
    context.stroke();
    context.setLineDash([]);
  }

  dot(x, y, size, { fill, stroke = null, alpha = 1 }) {
    const { context } = this;
    context.globalAlpha = alpha;
    context.beginPath();
    context.arc(this.atX(x), this.atY(y), this.scaled(size), 0, 2 * Math.PI);
    if (fill) {
      context.fillStyle = fill;
      context.fill();
    }
    if (stroke) {
      context.strokeStyle = stroke;
      context.lineWidth = this.scaled(2);
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  note(text, x, y, align = "left", fill = colours.soft) {
    const { context } = this;
    context.fillStyle = fill;
    context.textAlign = align;
    context.textBaseline = "middle";
    context.fillText(text, x, y);
  }
}
