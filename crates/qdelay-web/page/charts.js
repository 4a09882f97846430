// Charts of a run: link and rate, delay, queue over time; the distribution of delays; delay and throughput.

import { logTicks, styled } from "./chart.js";
import { Picture, ink, ticks } from "./draw.js";
import { COLUMNS, OF_GROUP, PER_GROUP } from "./engine.js";

/** Number of seconds shown, and the share of them in the past. */
export const SPAN_S = 25;
const PAST = 0.78;
/** Pixels below a chart with a time axis, and between charts over the same time. */
const [BELOW, BETWEEN] = [22, 6];
/** Pixels of a row of ticks for drops, and of the longest tick. */
const [TICK_ROW, TICK] = [8, 7];
const LEAST_MS = 0.1; // place of packets without delay on a logarithmic axis

const secondsText = (value) => `${value} s`;
const largest = (list) => list.reduce((most, value) => Math.max(most, value), 0);

export class Charts {
  constructor(canvases) {
    this.link = new Picture(canvases.link);
    this.delay = new Picture(canvases.delay);
    this.queue = new Picture(canvases.queue);
    this.cdf = new Picture(canvases.cdf);
    this.plane = new Picture(canvases.plane);
    /** Top of each axis: it rises at once and falls slowly, so that a chart does not jump. */
    this.tops = new Map();
    /** Position of the ring on the link's chart, in pixels; the element for touch input lies above it. */
    this.ring = null;
    /** The axis is fixed while the user draws. */
    this.isHeld = false;
  }

  forget() {
    this.tops.clear();
  }

  top(name, wanted) {
    const before = this.tops.get(name) ?? 0;
    const value = wanted > before ? wanted * 1.08 : Math.max(wanted * 1.08, before * 0.985);
    this.tops.set(name, value);
    return value;
  }

  /** Range of seconds shown at `now`. */
  range(now) {
    const low = Math.max(0, now - SPAN_S * PAST);
    return [low, low + SPAN_S];
  }

  /** Draws the charts over time. `view` has: engine, sides (number), now (s), bin (s), group (index of the shown delay, or -1), isLog (its axis), ahead
   * (rates from now on), isDrawable. */
  moving(view) {
    const [low, high] = this.range(view.now);
    const first = Math.max(0, Math.floor(low / view.bin) - 1);
    const of = (side, column) => view.engine.column(side, column).slice(first, view.engine.bins(side));
    const sides = Array.from({ length: view.sides }, (_, side) => side);
    const xTicks = ticks(high, 5).filter((value) => value >= low && value <= high);
    const start = first * view.bin;
    // Only the lowest chart has time labels.
    const lowest = this.queue.isSeen ? this.queue : this.delay;
    for (const picture of [this.link, this.delay, this.queue]) {
      picture.inset.bottom = picture === lowest ? BELOW : BETWEEN;
      picture.x = { low, high };
      picture.begin();
    }
    this.drawLink(view, sides, of, start, xTicks);
    this.drawDelay(view, sides, of, start, xTicks);
    if (this.queue.isSeen) this.drawQueue(view, sides, of, start, xTicks);
  }

  drawLink(view, sides, of, start, xTicks) {
    const { link: picture } = this;
    const { bin, ahead, now } = view;
    const capacity = of(0, COLUMNS.capacity);
    const rates = sides.map((side) => smooth(of(side, COLUMNS.rate), 3));
    // A manual rate may return to its earlier value, so the axis keeps room for it.
    const before = view.isDrawable ? largest(view.engine.column(0, COLUMNS.capacity)) : 0;
    const most = Math.max(before, largest(capacity), largest(ahead), largest(rates.flatMap((list) => Array.from(list))), 0.1);
    const top = this.isHeld ? this.tops.get("link") ?? most : this.top("link", most * 1.1);
    picture.y = { low: 0, high: top };
    picture.axes(xTicks, ticks(top * 0.9, 3), { xText: () => "" });
    picture.clipped(() => {
      picture.steps(capacity, start, bin, styled("--area"));
      picture.context.globalAlpha = 0.5;
      picture.steps(ahead, now, bin, styled("--area"));
      picture.context.globalAlpha = 1;
      for (const side of sides) picture.line(rates[side], start, bin, ink(side));
      this.drawNow(picture, now);
      if (view.isDrawable) {
        const rate = ahead.length ? ahead[0] : 0;
        picture.dot(now, rate, 7, { fill: styled("--surface"), stroke: styled("--accent") });
      }
    });
    if (view.isDrawable && ahead.length && picture.box.right - picture.box.left > picture.scaled(420)) {
      picture.note("draw what comes", picture.box.right - picture.scaled(4), picture.box.top + picture.scaled(8), "right");
    }
    this.ring = view.isDrawable ? [picture.atX(now), picture.atY(ahead.length ? ahead[0] : 0)] : null;
  }

  drawNow(picture, now) {
    const { context, box } = picture;
    picture.pen(styled("--soft"), [2, 3], 1);
    const x = Math.round(picture.atX(now)) + 0.5;
    picture.stroke([[x, box.top], [x, box.bottom]]);
    context.setLineDash([]);
  }

  drawDelay(view, sides, of, start, xTicks) {
    const { delay: picture } = this;
    const group = OF_GROUP + PER_GROUP * view.group;
    const longest = sides.map((side) => of(side, view.group < 0 ? COLUMNS.longest : group + 2));
    const means = sides.map((side) => (view.group < 0 ? meanOfAll(view, side, of) : ratio(of(side, group), of(side, group + 1))));
    const top = this.top("delay", Math.max(1, ...longest.map(largest)));
    picture.y = view.isLog ? { low: 1, high: Math.max(10, top), log: true } : { low: 0, high: top };
    picture.axes(xTicks, view.isLog ? logTicks(1, picture.y.high, false) : ticks(top * 0.9, 3), { xText: this.queue.isSeen ? () => "" : secondsText });
    picture.clipped(() => {
      for (const side of sides) {
        picture.context.globalAlpha = 0.16;
        picture.steps(longest[side], start, view.bin, ink(side).colour);
        picture.context.globalAlpha = 1;
      }
      for (const side of sides) picture.line(means[side], start, view.bin, ink(side));
      this.drawNow(picture, view.now);
    });
  }

  drawQueue(view, sides, of, start, xTicks) {
    const { queue: picture } = this;
    const packets = sides.map((side) => of(side, COLUMNS.packets));
    const top = this.top("queue", Math.max(10, ...packets.map(largest)));
    // A row of ticks for each side needs room above the lines.
    const height = picture.box.bottom - picture.box.top;
    const rows = Math.min(picture.scaled(TICK_ROW * view.sides), height / 2);
    picture.y = { low: 0, high: (top * height) / (height - rows) };
    picture.axes(xTicks, ticks(top * 0.9, 3), { xText: secondsText });
    picture.clipped(() => {
      for (const side of sides) picture.line(packets[side], start, view.bin, ink(side));
      this.drawNow(picture, view.now);
      // Each bin with drops has a tick, longer for more drops, in a row for each side.
      for (const side of sides) {
        const { box } = picture;
        picture.pen(ink(side).colour, [], 1.5);
        const row = box.top + picture.scaled(side * TICK_ROW);
        of(side, COLUMNS.dropped).forEach((count, at) => {
          if (count === 0) return;
          const x = picture.atX(start + (at + 0.5) * view.bin);
          picture.stroke([[x, row], [x, row + picture.scaled(Math.min(TICK, 2 + 1.5 * Math.log2(1 + count)))]]);
        });
      }
    });
  }

  /** Draws the accumulated figures: `progress` of each side, and the past seconds. */
  summed(progress, seconds) {
    if (this.cdf.isSeen) this.drawCdf(progress);
    if (this.plane.isSeen) this.drawPlane(progress, seconds);
  }

  drawCdf(progress) {
    const { cdf: picture } = this;
    const longest = Math.max(10, ...progress.map(({ curve_ms: curve }) => curve.at(-1) ?? 0));
    picture.x = { low: LEAST_MS, high: this.top("cdf", longest), log: true };
    picture.y = { low: 0, high: 100 };
    picture.begin();
    picture.axes(logTicks(picture.x.low, picture.x.high, false), [0, 25, 50, 75, 95], { xText: (value) => `${value}`, yText: (value) => `${value}%` });
    picture.clipped(() => {
      progress.forEach(({ curve_ms: curve, percents }, side) => {
        const { colour: stroke, dash } = ink(side);
        picture.pen(stroke, dash, 1.8);
        picture.stroke(curve.map((ms, at) => [picture.atX(ms), picture.atY(percents[at])]));
        picture.context.setLineDash([]);
      });
    });
  }

  drawPlane(progress, seconds) {
    const { plane: picture } = this;
    const delays = seconds.flat().map(([ms]) => ms);
    const rates = seconds.flat().map(([, mbps]) => mbps);
    picture.x = { low: 0.5, high: Math.max(100, this.top("planeX", largest(delays))), log: true };
    const top = this.top("planeY", Math.max(1, largest(rates), ...progress.map((side) => side.throughput_mbps)));
    picture.y = { low: 0, high: top };
    picture.begin();
    picture.axes(logTicks(picture.x.low, picture.x.high, false), ticks(top * 0.9, 4));
    picture.clipped(() => {
      seconds.forEach((points, side) => {
        points.forEach(([ms, mbps], at) => {
          const age = points.length - 1 - at;
          picture.dot(ms, mbps, 2.5, { fill: ink(side).colour, alpha: Math.max(0.12, 0.75 - age / 60) });
        });
      });
      progress.forEach(({ delay, throughput_mbps: mbps }, side) => {
        if (delay.count > 0) picture.dot(delay.mean, mbps, 7, { fill: ink(side).colour, stroke: styled("--surface") });
      });
    });
    progress.forEach(({ delay, throughput_mbps: mbps }, side) => {
      if (delay.count > 0) picture.note(side === 0 ? "A" : "B", picture.atX(delay.mean) + picture.scaled(11), picture.atY(mbps), "left", ink(side).colour);
    });
  }
}

/** Means over `width` values. */
function smooth(values, width) {
  return Float32Array.from(values, (_, at) => {
    let [sum, count] = [0, 0];
    for (let near = Math.max(0, at - width); near <= Math.min(values.length - 1, at + width); near += 1, count += 1) sum += values[near];
    return sum / count;
  });
}

const ratio = (sums, counts) => Array.from(sums, (sum, at) => (counts[at] > 0 ? sum / counts[at] : null));

/** Mean delay of all groups together. */
function meanOfAll(view, side, of) {
  const groups = view.groups;
  const sums = new Float32Array(of(side, COLUMNS.rate).length);
  const counts = new Float32Array(sums.length);
  for (let group = 0; group < groups; group += 1) {
    of(side, OF_GROUP + PER_GROUP * group).forEach((value, at) => (sums[at] += value));
    of(side, OF_GROUP + PER_GROUP * group + 1).forEach((value, at) => (counts[at] += value));
  }
  return ratio(sums, counts);
}

/** Mean delay and rate of each whole second of a side, from second `from` on, in which packets left: what the plane has of it. */
export function secondsOf(engine, side, groups, bin, from) {
  const width = Math.round(1 / bin);
  const rate = engine.column(side, COLUMNS.rate);
  const columns = Array.from({ length: groups }, (_, group) => [engine.column(side, OF_GROUP + PER_GROUP * group), engine.column(side, OF_GROUP + PER_GROUP * group + 1)]);
  const points = [];
  for (let second = from; (second + 1) * width <= engine.bins(side); second += 1) {
    let [sum, count, mbps] = [0, 0, 0];
    for (let at = second * width; at < (second + 1) * width; at += 1) {
      mbps += rate[at] / width;
      for (const [sums, counts] of columns) [sum, count] = [sum + sums[at], count + counts[at]];
    }
    if (count > 0) points.push([sum / count, mbps]);
  }
  return points;
}
