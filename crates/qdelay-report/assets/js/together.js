"use strict";
// Marks at one place and lines along one way: none of them hides another.

const SAME_PLACE = 4; // pixels; of marks that are farther apart enough is to be seen
const RING = 4; // pixels by which each further mark of a pile is larger
const PILE = 16; // pixels by which the largest may be larger
const NAMED = 3; // of a pile; the others are counted

/** `items` in piles that lie within `SAME_PLACE` of the first of each; `place(item)` is where it is, in pixels. */
function pilesOf(items, place) {
  const piles = [];
  for (const item of items) {
    const [x, y] = place(item);
    const pile = piles.find((known) => Math.hypot(known.x - x, known.y - y) < SAME_PLACE);
    if (pile) pile.items.push(item);
    else piles.push({ x, y, items: [item] });
  }
  return piles;
}

/** Growth of the radius of each mark of a pile, from the first, which lies on top. */
const ringsOf = (pile) => pile.items.map((_, at) => at * Math.min(RING, PILE / Math.max(1, pile.items.length - 1)));

/** Name of a pile: the labels by which its points differ, where they differ on one axis only. */
function pileName(points) {
  const differ = tellingAxes.filter((axis) => new Set(points.map((point) => point.entry.at[axis])).size > 1);
  const name = (point) => (differ.length === 1 ? labelOf(point.entry, differ[0]) : point.label);
  const rest = points.length > NAMED ? ` and ${points.length - NAMED} more` : "";
  return points.slice(0, NAMED).map(name).join(", ") + rest;
}

/** Name of a point among others: the labels of the axes on which any of them differ. */
function nameAmong(point, others) {
  const differ = tellingAxes.filter((axis) => others.some((other) => other.entry.at[axis] !== others[0].entry.at[axis]));
  return differ.map((axis) => labelOf(point.entry, axis)).join(" · ") || point.label;
}

/** Place of a text of this size beside (x, y): right, left, above or below, where it meets least of `taken`. */
function besidePlace(x, y, distance, width, height, box, taken) {
  const places = [[x + distance, y - height / 2], [x - distance - width, y - height / 2], [x - width / 2, y - distance - height], [x - width / 2, y + distance]];
  const cost = ([left, top]) => taken.filter((other) => left < other[2] && left + width > other[0] && top < other[3] && top + height > other[1]).length
    + (left < box[0] || top < box[1] || left + width > box[2] || top + height > box[3] ? 100 : 0);
  const place = places.reduce((best, place) => (cost(place) < cost(best) ? place : best));
  return { place, cost: cost(place) };
}

/**
 * Names of lines beside them, each where it meets no other line and no other name; lines that have no such place stay without.
 * `lines`: name, colour, and where it goes, in pixels of the plot.
 */
function nameLines(plot, lines) {
  const { ctx, bbox } = plot;
  const scale = devicePixelRatio;
  const box = [0, 0, bbox.width / scale, bbox.height / scale];
  const taken = [];
  ctx.save();
  ctx.font = `${11.5 * scale}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  for (const line of lines) {
    const width = ctx.measureText(line.name).width / scale;
    const meets = (other, [left, top]) => other.points.some(([x, y]) => x > left - 3 && x < left + width + 3 && y > top - 1 && y < top + 15);
    const cost = ([left, top]) => lines.filter((other) => meets(other, [left, top])).length
      + taken.filter((other) => left < other[2] + 4 && left + width + 4 > other[0] && top < other[3] && top + 14 > other[1]).length
      + (left < box[0] + 2 || top < box[1] || left + width > box[2] - 2 || top + 14 > box[3] ? 1 : 0);
    const free = line.points.flatMap(([x, y]) => [[x + 7, y - 7], [x - 7 - width, y - 7]]).find((place) => cost(place) === 0);
    if (!free) continue;
    const [left, top] = free;
    taken.push([left, top, left + width, top + 14]);
    haloText(ctx, line.name, [left * scale + bbox.left, (top + 7) * scale + bbox.top], line.colour, scale);
  }
  ctx.restore();
}

const SLOT = 22; // pixels of a line that belong to one of those that coincide

/**
 * The dashes of `dash` that belong to line `at` of `count` that run along one way: each has every `count`-th stretch of it to
 * itself, so that all colours are seen in turn.
 */
function sharedDash(dash, at, count) {
  if (count < 2) return dash;
  const own = [];
  let left = SLOT;
  for (let part = 0; left > 0; part += 1) {
    const length = dash.length ? Math.min(dash[part % dash.length], left) : left;
    own.push(length);
    left -= length;
  }
  // A gap follows, and one may stand before.
  const others = SLOT * (count - 1 - at);
  if (own.length % 2) own.push(others);
  else own[own.length - 1] += others;
  return at ? [0, SLOT * at, ...own] : own;
}

/** For each line its number among those that are alike, and how many there are; `alike` tells of two. */
function alikeOf(lines, alike) {
  const groups = [];
  const found = lines.map((line) => {
    let group = groups.find((known) => alike(known.line, line));
    if (!group) groups.push((group = { line, count: 0 }));
    group.count += 1;
    return { group, at: group.count - 1 };
  });
  return found.map(({ group, at }) => ({ at, count: group.count }));
}

/** Whether two rows of values differ by less than a pixel of a plot. */
function sameValues(one, other) {
  if (one.length !== other.length) return false;
  const most = one.reduce((top, value) => Math.max(top, Math.abs(value ?? 0)), 0);
  return one.every((value, at) => {
    const second = other[at];
    if (value === null || value === undefined) return second === null || second === undefined;
    return second !== null && second !== undefined && Math.abs(value - second) <= most / 250;
  });
}

/** Dashes for the lines of a plot over time that run along one way; those that stand behind others are left as they are. */
function partLines(series, values) {
  const lines = series.map((one, at) => ({ one, values: values[at] })).filter(({ one }) => one.dash);
  const alike = alikeOf(lines, (a, b) => sameValues(a.values, b.values));
  lines.forEach(({ one }, at) => { one.dash = sharedDash(one.dash, alike[at].at, alike[at].count); });
}
