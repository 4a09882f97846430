"use strict";
// Delay and throughput of each point; bars are 95% intervals over its runs.

const MEASURES = { mean: "Mean", p50: "Median", p95: "95th percentile", p99: "99th percentile", p999: "99.9th percentile", max: "Maximum" };
/** Measures of the vertical axis. */
const RATES = {
  throughput: { title: "Throughput", axis: "Throughput (Mbit/s)", factor: 1 },
  utilization: { title: "Utilization", axis: "Utilization (%)", factor: 100 },
  mos: { title: "MOS", axis: "Mean opinion score of calls", factor: 1, least: 0.2 }, // less is not heard
  loss: { title: "Loss", axis: "Packets lost (%)", factor: 100, isLessBetter: true },
};
const knownRates = Object.keys(RATES).filter((name) => ["throughput", "utilization"].includes(name) || FIGURE_AT.has(name));

/**
 * What goes upwards: as chosen; else, where only flows are selected that have their bit rate whatever happens (calls, games), how calls
 * sound, or what is lost; and otherwise throughput.
 */
function shownRate(points) {
  if (state.rate !== "auto") return state.rate;
  const given = new Set(data.given_rates);
  const isGiven = ({ entry }) => (FLOWS < 0 ? given.size > 0 : entry.group !== null && given.has(entry.group));
  if (!points.length || !points.every(isGiven)) return "throughput";
  return points.every((point) => figure(point, "mos")) ? "mos" : "loss";
}

const LEAST_MS = 0.01; // where a logarithmic axis puts what was not delayed

const atLeast = (value) => Math.max(value, state.delayLog ? LEAST_MS : 0);

/** Points with their places, in the order of their delays; points without a figure are left out. */
function placed(points, rate) {
  const places = points.map((point) => ({ point, delay: figure(point, `delay.${state.measure}`), rate: figure(point, rate) }));
  const there = places.filter((place) => place.delay && place.rate);
  const spread = ({ mean: middle, half }, least) => ({ mean: least(middle), low: least(middle - (half || 0)), high: least(middle + (half || 0)) });
  const placed = there.map((place) => ({ ...place, delay: spread(place.delay, atLeast), rate: spread(place.rate, (value) => Math.max(value, 0)) }));
  return placed.sort((a, b) => a.delay.mean - b.delay.mean);
}

function planeFrame(points, heading, height, rate) {
  const places = placed(points, rate);
  const shown = RATES[rate];
  return makeFrame({
    kind: "plane", marks: places.length, name: `plane ${state.measure} ${heading}`, height,
    title: `${shown.title} and delay`,
    unit: `${MEASURES[state.measure].toLowerCase()} of the queue delay${points.some((point) => point.runs.length > 1) ? "; bars are 95 % intervals" : ""}`,
    describe: `${shown.title} over queue delay of ${plural(places.length, "point")}; the table below has the figures`,
    key: () => pointKey(points, { lines: false }),
    data: () => planeData(places),
    options: (frame) => planeOptions(frame, places, shown),
    after: (plot, frame) => followPointer(plot, frame, places),
    onPointed: (plot) => plot.redraw(false),
  });
}

function planeData(places) {
  if (!places.length) return [[1], [null]];
  return [places.map((place) => place.delay.mean), places.map((place) => place.rate.mean)];
}

function planeOptions(frame, places, { axis, factor, isLessBetter, least = 0 }) {
  const delays = places.flatMap((place) => [place.delay.low, place.delay.high]);
  const rates = places.flatMap((place) => [place.rate.low, place.rate.high]);
  const [low, high] = delays.length ? [Math.min(...delays), Math.max(...delays)] : [1, 100];
  const zero = (range) => (state.fromZero ? [0, range[1]] : range);
  const home = state.delayLog ? paddedLog(low, high) : zero(padded(low, high));
  const rateHome = zero(atLeastSpan(least, padded(rates.length ? Math.min(...rates) : 0, rates.length ? Math.max(...rates) : 1, 0.12)));
  return {
    padding: [8, 14, 4, 4],
    legend: { show: false },
    cursor: { drag: { x: true, y: true, uni: 24 }, points: { show: false }, y: true, x: true },
    scales: {
      x: { time: false, distr: state.delayLog ? 3 : 1, range: homeRange(home) },
      y: { range: () => rateHome },
    },
    series: [{ label: "delay" }, { label: "rate", paths: () => null, points: { show: false } }],
    axes: [
      axisOptions({ label: axisLabel("x", `Queue delay, ${MEASURES[state.measure].toLowerCase()} (ms)`), labelSize: 18, size: 30, space: 60,
        ...(state.delayLog ? { splits: logSplits } : {}), values: (plot, ticks) => ticks.map(tick), filter: (plot, ticks) => ticks }),
      axisOptions({ label: axisLabel("y", axis, factor), labelSize: 18, size: axisSize,
        values: (plot, ticks) => ticks.map((value) => tick(factor * value)) }),
    ],
    hooks: {
      draw: [(plot) => drawPlane(plot, places, isLessBetter)],
      setScale: [(plot, key) => onScale(frame, plot, key)],
    },
  };
}

/** A range that is no shorter than `least`. */
function atLeastSpan(least, [low, high]) {
  const more = Math.max(0, least - (high - low)) / 2;
  return [low - more, high + more];
}

function drawPlane(plot, places, isLessBetter) {
  const { ctx, bbox } = plot;
  const scale = devicePixelRatio;
  const colours = theme();
  clipped(ctx, [bbox.left, bbox.top, bbox.width, bbox.height], () => {
    ctx.font = `${12 * scale}px system-ui, sans-serif`;
    ctx.fillStyle = colours.soft;
    ctx.textAlign = "left";
    ctx.textBaseline = isLessBetter ? "bottom" : "top";
    ctx.fillText(isLessBetter ? "\u2199 better" : "\u2196 better", bbox.left + 8 * scale, isLessBetter ? bbox.top + bbox.height - 7 * scale : bbox.top + 7 * scale);
    const hasPointed = (pile) => pile.items.some(({ point }) => point.key === pointed);
    const size = places.length > NAMED_PILES * 5 ? 0.5 : 1;
    const piles = pilesOf(places, (place) => placeOf(plot, place)).sort((a, b) => hasPointed(a) - hasPointed(b));
    for (const pile of piles) {
      pile.items.forEach((place) => drawBars(plot, place, scale));
      const rings = size < 1 ? pile.items.map(() => 0) : ringsOf(pile);
      // From below.
      for (let at = pile.items.length - 1; at >= 0; at -= 1) drawMark(plot, pile.items[at], rings[at], scale, colours, size);
    }
    ctx.globalAlpha = 1;
    drawNames(plot, piles, scale, colours);
  });
}

/** Place of a point, in pixels of the page. */
const placeOf = (plot, { delay, rate }) => [plot.valToPos(delay.mean, "x"), plot.valToPos(rate.mean, "y")];

const POINTED_PX = 28; // from a point that the pointer means
const NAMED_POINTS = 14; // more names than this are no help
const NAMED_PILES = 60; // and more points than this have none at all

/** Names of piles; and of single points, as long as there are few and the names meet nothing. */
function drawNames(plot, piles, scale, colours) {
  const { ctx, bbox } = plot;
  const every = piles.flatMap((pile) => pile.items.map(({ point }) => point));
  if (every.length > NAMED_PILES) return;
  const isFew = every.length > 1 && every.length <= NAMED_POINTS;
  const origin = [bbox.left / scale, bbox.top / scale];
  const taken = piles.map(({ x, y }) => [x - 8, y - 8, x + 8, y + 8]);
  ctx.font = `${11.5 * scale}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  for (const pile of [...piles].sort((a, b) => b.items.length - a.items.length)) {
    const isOne = pile.items.length === 1;
    if (isOne && !isFew) continue;
    const text = isOne ? nameAmong(pile.items[0].point, every) : pileName(pile.items.map(({ point }) => point));
    const width = ctx.measureText(text).width / scale;
    const distance = 10 + Math.max(...ringsOf(pile));
    const { place: [left, top], cost } = besidePlace(pile.x, pile.y, distance, width, 14, [0, 0, bbox.width / scale, bbox.height / scale], taken);
    if (isOne && cost > 0) continue;
    taken.push([left, top, left + width, top + 14]);
    haloText(ctx, text, [(left + origin[0]) * scale, (top + 7 + origin[1]) * scale], colours.text, scale);
  }
}

function drawBars(plot, { point, delay, rate }, scale) {
  const { ctx } = plot;
  const at = (x, y) => [plot.valToPos(x, "x", true), plot.valToPos(y, "y", true)];
  ctx.globalAlpha = pointed === null || pointed === point.key ? 1 : 0.3;
  const colour = colourOf(point.colour);
  ctx.strokeStyle = faint(colour, 0.7);
  ctx.lineWidth = 1.5 * scale;
  ctx.setLineDash([]);
  ctx.beginPath();
  tracePoints(ctx, [at(delay.low, rate.mean), at(delay.high, rate.mean), null, at(delay.mean, rate.low), at(delay.mean, rate.high)]);
  ctx.stroke();
}

function drawMark(plot, { point, delay, rate }, ring, scale, colours, size) {
  const [x, y] = [plot.valToPos(delay.mean, "x", true), plot.valToPos(rate.mean, "y", true)];
  plot.ctx.globalAlpha = pointed === null || pointed === point.key ? 1 : 0.3;
  const radius = (pointed === point.key ? 7.5 : 5.8 * size) + ring;
  drawShape(plot.ctx, shapeOf(point.shape), x, y, radius * scale, colourOf(point.colour), colours.surface, scale);
}

function followPointer(plot, frame, places) {
  plot.over.addEventListener("mousemove", (event) => {
    if (event.buttons) return hideHint();
    const box = plot.over.getBoundingClientRect();
    const near = nearest(places, [event.clientX - box.left, event.clientY - box.top], (place) => placeOf(plot, place), POINTED_PX);
    if (!near) return leave();
    pointAt(near.point.key);
    const pile = pilesOf(places, (place) => placeOf(plot, place)).find(({ items }) => items.includes(near));
    const others = pile.items.filter((place) => place !== near).map((place) => ["Same place", place.point.label]);
    showHint(plot, ...placeOf(plot, near), pointTitle(near.point), [...pointFacts(near.point), ...others]);
  });
  const leave = () => { hideHint(); pointAt(null); };
  plot.over.addEventListener("mouseleave", leave);
}

const pointTitle = (point) => [swatch(colourOf(point.colour), shapeOf(point.shape)), point.label];

function pointFacts(point) {
  const text = (path, unit) => {
    const value = figure(point, path);
    if (!value) return "–";
    const range = value.count > 1 && number(value.low) !== number(value.high) ? ` (${number(value.low)} to ${number(value.high)})` : "";
    return `${withHalf(value.mean, value.half)}${unit}${range}`;
  };
  const rows = [["Throughput", text("throughput", " Mbit/s")], ["Delay, mean", text("delay.mean", " ms")],
    ["95 %", text("delay.p95", " ms")], ["99 %", text("delay.p99", " ms")]];
  if (figure(point, "mos")) rows.push(["MOS of calls", text("mos", "")]);
  if (figure(point, "took.p50")) rows.push(["Downloads took, median", text("took.p50", " ms")]);
  if (figure(point, "rpm")) rows.push(["Round trips a minute", text("rpm", "")]);
  if (point.entries.length > 1) rows.push(["Seeds", `${point.entries.length}${point.runs.length < point.entries.length ? `, ${point.runs.length} different` : ""}`]);
  return rows;
}
