"use strict";
// Distributions: percent of the packets over their delay.

const CURVES = 200; // more are no longer seen
const NAMED_CURVES = 10;
const CDF_STEPS = 480; // about one for each pixel
const TAIL_TICKS = [0, 1, 2, 3, 4];

/** 90 % is 1, 99 % is 2, 99.9 % is 3: every step is a tenth of the packets before it. */
const nines = (percent) => Math.min(4, -Math.log10(Math.max(1e-9, 1 - percent / 100)));

function cdfFrame(points, heading, height) {
  const all = points.map((point) => ({ point, cdf: pointCdf(point) })).filter((curve) => curve.cdf);
  const curves = all.slice(0, CURVES);
  return makeFrame({
    kind: "cdf", name: `delay cdf ${heading}`, height,
    title: `Distribution of the ${cdfName()}`,
    unit: all.length > CURVES ? `the first ${CURVES} of ${plural(all.length, "curve")}; select fewer to see the others` : !curves.length && state.cdfOf !== "queue" ? "of single flows: tick some" : state.tail ? "up to 99.99 % of packets" : "",
    describe: `Distribution of the ${cdfName()} of ${plural(curves.length, "point")}`,
    key: () => pointKey(points, { lines: true }),
    data: () => cdfData(curves, cdfRange(curves)),
    options: (frame) => cdfOptions(frame, curves),
    after: (plot, frame) => plot.over.addEventListener("mouseleave", () => { hideHint(); pointAt(null); }),
    onPointed: (plot, key) => focusCurve(plot, curves, key),
  });
}

const cdfName = () => CDF_SOURCES.find(([name]) => name === state.cdfOf)[1];

/** Least and largest delay of all curves; a logarithmic axis begins where curves rise, not at single early packets. */
function cdfRange(curves, isLog = state.cdfLog) {
  if (!curves.length) return [1, 100];
  const low = Math.min(...curves.map(({ cdf }) => delayAt(cdf, isLog ? 0.5 : 0)));
  const high = Math.max(...curves.map(({ cdf }) => cdf.ms[cdf.ms.length - 1]));
  const from = isLog ? Math.max(low, high / 1e5, LEAST_MS) : 0;
  return [from, Math.max(high, from * 1.1, 0.1)];
}

const delayAt = (cdf, percent) => cdf.ms[Math.max(0, cdf.percent.findIndex((value) => value >= percent))];

/** Curves at the same delays, close together in `range` and once at both ends of everything. */
function cdfData(curves, range, whole = range, isLog = state.cdfLog) {
  const [low, high] = range;
  const along = (share) => (isLog ? low * (high / low) ** share : low + (high - low) * share);
  const inside = Array.from({ length: CDF_STEPS + 1 }, (_, step) => along(step / CDF_STEPS));
  const xs = [...(whole[0] < low ? [whole[0]] : []), ...inside, ...(whole[1] > high ? [whole[1]] : [])];
  return [xs, ...(curves.length ? curves.map(({ cdf }) => sharesAt(cdf, xs)) : [xs.map(() => null)])];
}

/** Percent of the packets at each delay of `xs`, both ascending. */
function sharesAt({ percent, ms }, xs) {
  let next = 0;
  return xs.map((x) => {
    while (next < ms.length && ms[next] <= x) next += 1;
    if (next === 0) return x < ms[0] ? (state.tail ? 0 : 0) : percent[0];
    const share = next === ms.length ? 100 : between(percent, ms, next, x);
    return state.tail ? nines(share) : share;
  });
}

function between(percent, ms, next, x) {
  const part = (x - ms[next - 1]) / (ms[next] - ms[next - 1]);
  return percent[next - 1] + part * (percent[next] - percent[next - 1]);
}

function cdfOptions(frame, curves, name = cdfName(), isLog = state.cdfLog) {
  const whole = cdfRange(curves, isLog);
  const alike = alikeCurves(curves);
  return {
    padding: [8, 14, 4, 4],
    legend: { show: false },
    focus: { alpha: 0.22 },
    cursor: { drag: { x: true, y: false }, y: false, focus: { prox: 40 }, points: { size: 7 } },
    scales: {
      x: { time: false, distr: isLog ? 3 : 1, range: homeRange(whole) },
      y: { range: () => (state.tail ? [0, 4] : [0, 100]) },
    },
    series: [{ label: "delay" }, ...(curves.length ? curves.map((curve, at) => curveOptions(curve, alike[at])) : [{}])],
    axes: [
      axisOptions({ label: `${name[0].toUpperCase()}${name.slice(1)} (ms)`, labelSize: 18, size: 30, space: 60, ...(isLog ? { splits: logSplits } : {}),
        values: (plot, ticks) => ticks.map(tick), filter: (plot, ticks) => ticks }),
      axisOptions({ label: "Packets (%)", labelSize: 18, size: axisSize, ...(state.tail ? { splits: () => TAIL_TICKS } : {}),
        values: (plot, ticks) => ticks.map((value) => (state.tail ? ["0", "90", "99", "99.9", "99.99"][value] : tick(value))) }),
    ],
    hooks: {
      draw: [(plot) => nameCurves(plot, curves)],
      setScale: [(plot, key) => { onScale(frame, plot, key); if (key === "x") refine(plot, curves, whole, isLog); }],
      setSeries: [(plot, index, change) => "focus" in change && onCurve(plot, curves, index)],
      setCursor: [(plot) => plot.focused && hintCurve(plot, curves)],
    },
  };
}

/** Names beside the curves, from the middle of each outwards. */
function nameCurves(plot, curves) {
  if (curves.length < 2 || curves.length > NAMED_CURVES) return;
  const every = curves.map(({ point }) => point);
  const [low, high] = [plot.scales.x.min, plot.scales.x.max];
  const lines = curves.map(({ point, cdf }) => {
    const points = cdf.ms.flatMap((ms, at) => (ms >= low && ms <= high ? [[plot.valToPos(ms, "x"), plot.valToPos(state.tail ? nines(cdf.percent[at]) : cdf.percent[at], "y")]] : []));
    const middle = plot.bbox.height / devicePixelRatio / 2;
    return { name: nameAmong(point, every), colour: colourOf(point.colour), points: dense(points).sort((a, b) => Math.abs(a[1] - middle) - Math.abs(b[1] - middle)) };
  });
  nameLines(plot, lines);
}

/** A line as points that are at most a few pixels apart. */
function dense(points) {
  return points.flatMap(([x, y], at) => {
    const [toX, toY] = points[at + 1] || [x, y];
    const steps = Math.max(1, Math.ceil(Math.hypot(toX - x, toY - y) / 6));
    return Array.from({ length: steps }, (_, step) => [x + ((toX - x) * step) / steps, y + ((toY - y) * step) / steps]);
  });
}

const curveOptions = ({ point }, { at, count }) => ({
  label: point.label, stroke: () => colourOf(point.colour), width: 1.8, dash: sharedDash(dashOf(point.shape), at, count), points: { show: false },
});

/** Curves that run along one way: nowhere more than a step apart, to the side or upwards. */
function alikeCurves(curves) {
  // Coinciding curves among many are invisible, and comparing them takes long.
  if (curves.length > NAMED_CURVES * 4) return curves.map(() => ({ at: 0, count: 1 }));
  const [, ...shares] = cdfData(curves, cdfRange(curves));
  const room = state.tail ? 0.015 : 0.4;
  const inside = (one, other) => one.every((share, at) => share >= other[Math.max(0, at - 1)] - room && share <= other[Math.min(at + 1, other.length - 1)] + room);
  return alikeOf(shares, (one, other) => inside(one, other) && inside(other, one));
}

/** After a zoom: as many steps in what is left. */
function refine(plot, curves, whole, isLog) {
  const { min, max } = plot.scales.x;
  const range = [Math.max(min, whole[0]), Math.min(max, whole[1])];
  if (String(range) === String(plot.refined || whole) || !(range[1] > range[0])) return;
  plot.refined = range;
  queueMicrotask(() => { plot.setData(cdfData(curves, range, whole, isLog), false); plot.redraw(true, false); });
}

function onCurve(plot, curves, index) {
  const curve = index ? curves[index - 1] : null;
  plot.focused = curve;
  if (plot.cursor.left < 0) return;
  pointAt(curve ? curve.point.key : null);
  if (!curve) hideHint();
}

function hintCurve(plot, curves) {
  const { left, top } = plot.cursor;
  const { point, cdf } = plot.focused;
  if (left < 0) return;
  const delay = plot.posToVal(left, "x");
  const [share] = sharesAt(cdf, [delay]);
  const percent = state.tail ? 100 * (1 - 10 ** -share) : share;
  showHint(plot, left, top, [swatch(colourOf(point.colour), null, dashOf(point.shape)), point.label],
    [[`At most ${number(delay)} ms`, percentText(percent)], ...["p50", "p95", "p99"].map((name) => [MEASURES[name], `${number(quantile(point, cdf, name))} ms`])]);
}

const quantile = (point, cdf, name) => (state.cdfOf === "queue" && !point.isPart ? figure(point, `delay.${name}`).mean : delayAt(cdf, Number(name.slice(1))));

/** Another plot or the table points at a curve. */
function focusCurve(plot, curves, key) {
  if (plot.cursor.left >= 0) return;
  const index = curves.findIndex((curve) => curve.point.key === key);
  plot.setSeries(index < 0 ? null : index + 1, { focus: true });
}
