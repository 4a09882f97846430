"use strict";
// The data, what is selected of it, and the points that selection and averaging leave.

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const data = read("data");

const SEED = data.axes.findIndex((axis) => axis.name === "seed");
const FOLDER = data.axes.findIndex((axis) => axis.name === "folder");
const ALL_FLOWS = "all flows";

// Flows of different entries make one more axis: everything of a case, then its groups.
const axes = data.groups.length ? [...data.axes, { name: "flows", labels: [ALL_FLOWS, ...data.groups] }] : data.axes;
const FLOWS = data.groups.length ? axes.length - 1 : -1;

const varies = (axis) => axes[axis].labels.length > 1;

/** Each case once for all its flows and once for each group. */
const entries = data.cases.flatMap((item, index) => {
  const whole = { index, item, at: FLOWS < 0 ? item.at : [...item.at, 0], figures: item.all, cdf: item.cdf, group: null };
  const [groups, cdfs] = [item.groups || {}, item.group_cdf || {}];
  const part = (group, number) =>
    own(groups, group) && {
      index, item, group, at: [...item.at, number + 1], figures: own(groups, group), cdf: own(cdfs, group),
    };
  return [whole, ...data.groups.map(part).filter(Boolean)];
});

/** The place of each figure in the lists of cases. */
const FIGURE_AT = new Map(data.figures.map((name, at) => [name, at]));

/** A figure of an entry by its name, such as `delay.p99`; null where it has none. */
const figureOf = (entry, name) => entry.figures[FIGURE_AT.get(name)] ?? null;

/** Axes that tell points apart, outermost first. */
const tellingAxes = axes.map((_, axis) => axis).filter((axis) => varies(axis) && axis !== SEED);

/** Many points get panels: one for each trace or link, else for each label of the outermost axis that colours and shapes leave over. */
function defaultPanels(colour) {
  if (FOLDER >= 0) return FOLDER;
  const others = tellingAxes.filter((axis) => axis !== FLOWS && axis !== colour);
  const place = others.find((axis) => ["path.trace", "path.link"].includes(axes[axis].name)) ?? (others.length > 1 ? others[0] : undefined);
  const points = tellingAxes.reduce((product, axis) => product * (axis === FLOWS ? 1 : axes[axis].labels.length), 1);
  return place !== undefined && points > 12 ? place : -1;
}

/** The axis whose points get shapes and dashes: the folder, or the next one that is not told apart already. */
function defaultShape(colour, panels) {
  if (FOLDER >= 0 && colour !== FOLDER) return FOLDER;
  const other = tellingAxes.find((axis) => axis !== colour && axis !== panels && axis !== FLOWS);
  return other === undefined ? -1 : other;
}

/** The default kind of rows: UEs or flows, else groups of them. */
const firstKind = ["ue", "flow", "slice", "class"].find((kind) => data.cases.some((item) => item.by && own(item.by, kind))) || "group";

function defaultState() {
  const colour = data.groups_first ? FLOWS : data.colour_axis === null ? -1 : data.colour_axis;
  const panels = defaultPanels(colour);
  return {
    selected: axes.map((axis, index) => new Set(index !== FLOWS ? axis.labels.keys() : data.groups_first ? data.groups.map((_, at) => at + 1) : [0])),
    colour, panels, shape: defaultShape(colour, panels),
    each: false, // seed by itself, instead of their mean
    measure: "p99", rate: "auto", delayLog: true, fromZero: false, // plane
    cdfOf: "queue", cdfLog: true, tail: false,
    stageShare: false, // delay by stage
    by: firstKind, byLog: true, // rows of UEs, flows...
    overlay: false, sameDelay: false, seriesLog: false, // time series
    viewer: null, left: null, right: null, held: axes.map(() => null), viewerLog: true, // calls and streams
    find: "", sort: null, descending: false, // table
  };
}
const state = defaultState();

const isSelected = (entry) => entry.at.every((label, axis) => state.selected[axis].has(label));

const labelOf = (entry, axis) => axes[axis].labels[entry.at[axis]];

/** Name of a point without the axes that stand beside it. */
function describe(entry, without = []) {
  const told = (axis) => !without.includes(axis) && (axis !== FLOWS || state.selected[FLOWS].size > 1);
  const parts = tellingAxes.filter(told).map((axis) => labelOf(entry, axis));
  if (state.each && SEED >= 0 && varies(SEED)) parts.push(`seed ${labelOf(entry, SEED)}`);
  return parts.join(" · ") || entry.item.id;
}

/**
 * A figure over the runs of a point: the mean, half of its 95% interval (null for one run), the least and the largest. Seeds whose
 * runs are equal are one run.
 */
function figure(point, name) {
  const there = point.runs.map((entry) => figureOf(entry, name)).filter((value) => value !== null);
  if (!there.length) return null;
  const middle = mean(there);
  return { mean: middle, half: halfWidth(there, middle), low: Math.min(...there), high: Math.max(...there), count: there.length };
}

/** Student's t with one degree of freedom less than there are values, times the standard error. */
function halfWidth(values, middle) {
  if (values.length < 2) return null;
  const squares = values.reduce((sum, value) => sum + (value - middle) ** 2, 0);
  return data.half_widths[values.length - 2] * Math.sqrt(squares / (values.length - 1) / values.length);
}

function makePoint(key, members) {
  const entry = members[0];
  const seen = new Set();
  const isNew = ({ index, item }) => { const run = item.same ?? index; return !seen.has(run) && seen.add(run); };
  return {
    key, entries: members, runs: members.filter(isNew), entry, label: describe(entry),
    colour: state.colour < 0 ? 0 : entry.at[state.colour],
    shape: state.shape < 0 ? 0 : entry.at[state.shape],
  };
}

/** The selected entries, with their seeds taken together unless each is wanted. */
function selectedPoints() {
  const groups = new Map();
  for (const entry of entries.filter(isSelected)) {
    const key = entry.at.map((label, axis) => (axis === SEED && !state.each ? "*" : label)).join(",");
    if (groups.has(key)) groups.get(key).push(entry);
    else groups.set(key, [entry]);
  }
  return [...groups].map(([key, members]) => makePoint(key, members));
}

/** Delays that have distributions: flows through a cell have more than the delay at the bottleneck. */
const CDF_SOURCES = [["queue", "queue delay"], ["sdap", "delay at the SDAP"], ["rlc", "delay at the RLC"], ["round_trip", "round trip"], ["arrival", "delay of data with its retransmissions"]]
  .filter(([name]) => name === "queue" || data.cases.some((item) => Object.values(item.other_cdf || {}).some((cdfs) => own(cdfs, name))));

/** The chosen distribution of an entry; all flows together have only that of the queue delay, unless they are of one group. */
function entryCdf(entry) {
  if (state.cdfOf === "queue") return entry.cdf;
  const others = entry.item.other_cdf || {};
  const group = entry.group || (data.groups.length ? null : Object.keys(others)[0]);
  const cdfs = group && own(others, group);
  return cdfs ? own(cdfs, state.cdfOf) : null;
}

/** Delay at each percentile: of one case, or the mean over seeds. */
function pointCdf(point) {
  const curves = point.runs.map(entryCdf).filter((cdf) => cdf && cdf.ms.length);
  if (!curves.length) return null;
  const percent = data.percents[curves[0].percent];
  const alike = curves.filter((cdf) => cdf.percent === curves[0].percent);
  return { percent, ms: percent.map((_, at) => mean(alike.map((cdf) => cdf.ms[at]))) };
}

const parsedSeries = new Map();

/** The series of a case, parsed when it is first looked at; the latest hundred are kept. */
function seriesOf(index) {
  if (!data.cases[index].series) return null;
  if (!parsedSeries.has(index)) {
    if (parsedSeries.size >= 100) parsedSeries.delete(parsedSeries.keys().next().value);
    const series = read(`series-${index}`);
    series.capacityId = series.capacity;
    series.capacity = series.capacity === null ? null : read(series.capacity);
    series.time = series.throughput.map((_, bin) => Number((bin * series.bin).toPrecision(9)));
    parsedSeries.set(index, series);
  }
  return parsedSeries.get(index);
}
