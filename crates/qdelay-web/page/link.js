// Rate of the link over time: points [ms, kbit/s], the first at 0, each valid until the next. The page draws them, and the scenario has
// them as
// `steps:`.

export const LEAST_KBIT = 0;
export const MOST_KBIT = 400_000;

const UNITS = { bit: 1e-3, kbit: 1, mbit: 1e3, gbit: 1e6 };
const TIMES = { us: 1e-3, ms: 1, s: 1e3, min: 6e4 };

function quantity(text, units) {
  const match = /^(\d+(?:\.\d*)?|\.\d+)([a-z]+)$/.exec(text.trim());
  // Rounding: 16.1 Mbit/s are exactly 16100 kbit/s.
  return match && Object.hasOwn(units, match[2]) ? Number((Number(match[1]) * units[match[2]]).toPrecision(12)) : null;
}

/** Rate in a scenario's notation, in kbit/s; null for other texts. */
export const kbitOf = (text) => quantity(text, UNITS);
/** Time in a scenario's notation, in ms; null for other texts. */
export const msOf = (text) => quantity(text, TIMES);

/** Three digits, the precision of drawing by hand. */
const rounded = (kbit) => (kbit <= 0 ? 0 : Math.max(1, Number(kbit.toPrecision(3))));

/** Rate in a scenario's notation. */
export function rateText(kbit) {
  if (kbit >= 1000 && kbit % 10 === 0) return `${kbit / 1000}mbit`;
  return kbit < 1 && kbit > 0 ? `${Math.round(kbit * 1000)}bit` : `${kbit}kbit`;
}
/** Rate for readers. */
export const mbitText = (kbit) => (kbit < 1000 ? `${Number(kbit.toPrecision(3))} kbit/s` : `${Number((kbit / 1000).toPrecision(3))} Mbit/s`);
const timeText = (ms) => (ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`);

/** Points of a link's text until `until` ms, for steps and plain rates; null for any other link. */
export function pointsOf(text, until) {
  const plain = kbitOf(text);
  if (plain !== null) return [[0, plain]];
  const [name, profile, ...rest] = text.split(":");
  if (name !== "steps" || !profile) return null;
  const points = profile.split("+").map((step) => {
    const [at, rate] = step.split("@");
    return [msOf(at || ""), kbitOf(rate || "")];
  });
  if (points.some(([ms, kbit]) => ms === null || kbit === null) || points[0][0] !== 0) return null;
  if (points.some(([ms], at) => at > 0 && ms <= points[at - 1][0])) return null;
  const repeat = rest.find((part) => part.startsWith("repeat="));
  if (rest.length > (repeat ? 1 : 0)) return null; // With an overhead it is none of ours.
  const period = repeat ? msOf(repeat.slice(7)) : null;
  if (!repeat) return points;
  if (!period || points.some(([ms]) => ms >= period) || until / period > 10_000) return null;
  const all = [];
  for (let round = 0; round * period < until; round += 1) all.push(...points.map(([ms, kbit]) => [ms + round * period, kbit]));
  return joined(all);
}

/** Removes points that change nothing. */
function joined(points) {
  return points.filter(([, kbit], at) => at === 0 || kbit !== points[at - 1][1]);
}

/** Index of the point that applies at `ms`. */
function placeOf(points, ms) {
  let [low, high] = [0, points.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= ms) low = middle;
    else high = middle;
  }
  return low;
}
export const rateAt = (points, ms) => points[placeOf(points, ms)][1];

const limited = (kbit) => Math.min(Math.max(rounded(kbit), LEAST_KBIT), MOST_KBIT);

/** Sets this rate from the next whole `ms` on; the past stays unchanged. */
export function from(points, ms, kbit) {
  const at = Math.max(0, Math.ceil(ms));
  return joined([...points.filter(([start]) => start < at), [at, limited(kbit)]]);
}

/** Adds a line drawn between two positions, in steps of `width` ms; later points stay. */
export function drawn(points, [fromMs, fromKbit], [toMs, toKbit], width) {
  if (toMs < fromMs) return drawn(points, [toMs, toKbit], [fromMs, fromKbit], width);
  const first = Math.floor(fromMs / width);
  const last = Math.max(first, Math.floor(toMs / width));
  const after = [(last + 1) * width, rateAt(points, (last + 1) * width)];
  const steps = [];
  for (let at = first; at <= last; at += 1) {
    const share = last === first ? 1 : (at - first) / (last - first);
    steps.push([at * width, limited(fromKbit + (toKbit - fromKbit) * share)]);
  }
  const kept = points.filter(([ms]) => ms < first * width);
  if (kept.length === 0 && first > 0) kept.push(points[0]);
  return joined([...kept, ...steps, after, ...points.filter(([ms]) => ms > after[0])]);
}

/** Rest of the schedule from `ms` on, as a link that begins then. */
export function tail(points, ms) {
  const at = Math.ceil(ms);
  return [[0, rateAt(points, at)], ...points.filter(([start]) => start > at).map(([start, kbit]) => [start - at, kbit])];
}

/** Schedule as steps, also for one rate: later drawing continues them. */
export const stepsText = (points) => `steps:${points.map(([ms, kbit]) => `${timeText(ms)}@${rateText(kbit)}`).join("+")}`;
/** Link as a scenario writes it: a plain rate is above zero. */
export const textOf = (points) => (points.length === 1 && points[0][1] > 0 ? rateText(points[0][1]) : stepsText(points));

/** Points from rates in Mbit/s, one for each `width` ms: the capacity of another link so far, as a start for drawing. */
export function observed(mbps, width) {
  const points = Array.from(mbps, (rate, at) => [at * width, limited(rate * 1000)]);
  return points.length ? joined(points) : [[0, limited(1000)]];
}

/** Predefined links. */
export const SHAPES = [
  ["Constant, 20 Mbit/s", "20mbit"],
  ["20 and 2 Mbit/s, 15 s each", "steps:0s@20mbit+15s@2mbit:repeat=30s"],
  ["A staircase, 4 to 20 Mbit/s", "steps:0s@4mbit+2s@8mbit+4s@12mbit+6s@16mbit+8s@20mbit:repeat=10s"],
  ["10 Mbit/s with outages of 2 s", "steps:0s@10mbit+10s@0kbit:repeat=12s"],
  ["Like Wi-Fi, 3 to 30 Mbit/s", "steps:0s@30mbit+4s@12mbit+5s@24mbit+9s@3mbit+11s@18mbit+15s@6mbit:repeat=17s"],
];
