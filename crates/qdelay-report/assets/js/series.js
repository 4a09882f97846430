"use strict";
// Delay, rate and backlog over time: of each case in a card of its own, or of several in one.

const OVERLAID = 12; // lines that can be told apart

const TIME_CURSOR = {
  drag: { x: true, y: false }, y: false, points: { size: 6 },
  // Zoom goes its own way (onScale), because plots out of view have to follow too.
  sync: { key: "time", scales: ["x", null], setSeries: false, filters: { pub: isHover, sub: isHover } },
};
function isHover(type) {
  return type === "mousemove" || type === "mouseleave" || type === "mouseenter";
}

/** The cards of a selection: the points of one case together, first seeds only unless each is wanted. */
function seriesCases(points) {
  const cases = new Map();
  for (const point of points) {
    for (const entry of state.each ? point.entries : [point.entries.find((member) => member.item.series) || point.entry]) {
      if (!cases.has(entry.index)) cases.set(entry.index, []);
      cases.get(entry.index).push({ ...point, entry });
    }
  }
  return [...cases].map(([index, lines]) => ({ index, item: data.cases[index], lines: lines.map((point) => lineOf(point, lines)) }));
}

/** A line is coloured by its point, or by its flows where a card has several. */
function lineOf(point, among) {
  const several = among.length > 1;
  const name = point.entry.group || (several ? ALL_FLOWS : null);
  return { index: point.entry.index, group: point.entry.group, name, colour: several && FLOWS >= 0 ? point.entry.at[FLOWS] : point.colour, dash: 0 };
}

const lineSeries = (line) => {
  const series = seriesOf(line.index);
  return line.group ? own(series.groups, line.group) || { throughput: [], mean: [], max: [] } : series;
};

function seriesCard(card) {
  const entry = entries.find((candidate) => candidate.index === card.index && !candidate.group);
  const title = tellingAxes.filter((axis) => axis !== FLOWS).map((axis) => labelOf(entry, axis));
  if (SEED >= 0 && varies(SEED)) title.push(`seed ${labelOf(entry, SEED)}`);
  const colour = state.colour < 0 || state.colour === FLOWS ? null : swatch(colourOf(entry.at[state.colour]), state.shape === FLOWS || state.shape < 0 ? "circle" : shapeOf(entry.at[state.shape]));
  const facts = [["throughput", "Mbit/s"], ["delay.mean", "ms mean"], ["delay.p99", "ms p99"]].map(([name, unit]) => [figureOf(entry, name), unit]);
  const head = make("header", { class: "card-head" },
    make("h3", {}, colour, title.join(" · ") || card.item.id),
    make("p", { class: "facts" }, ...facts.map(([value, unit]) => make("span", {}, make("b", { text: number(value) }), ` ${unit}`))));
  const name = `${data.folders[card.item.folder].name} ${card.item.id}`;
  return make("article", { class: "card" }, head, ...(card.item.series ? timeFrames(card.lines, name, title.join(", ") || card.item.id) : [noSeries()]));
}

const noSeries = () => make("p", { class: "empty", text: data.series === "all" ? "This case was run without time series." : "Left out of this file to keep it small." });

function overlayCard(cards) {
  const shown = cards.filter((card) => card.item.series).slice(0, OVERLAID);
  const lines = shown.flatMap((card) => card.lines.map((line) => ({ ...line, name: line.label })));
  const left = cards.length - shown.length;
  const note = left > 0 ? make("p", { class: "note", text: `The first ${shown.length} of ${cards.length} lines; select fewer to see the others.` }) : null;
  return make("article", { class: "card wide" }, note, ...timeFrames(lines, "overlaid", "selected cases"));
}

/** Lines of several cases, with the colours and dashes of their points. */
function overlayLines(points) {
  const cards = points.map((point) => {
    const entry = point.entries.find((member) => member.item.series) || point.entry;
    return { index: entry.index, item: entry.item, lines: [{ index: entry.index, group: entry.group, label: point.label, colour: point.colour, dash: point.shape }] };
  });
  return cards;
}

function timeFrames(lines, name, of) {
  const several = lines.length > 1;
  const frame = (kind, title, unit, height, build) => makeFrame({
    kind, name: `${kind} ${name}`, title, unit, height, time: true, describe: `${title} over time, ${of}`,
    key: () => (several ? lines.map((line) => ({ text: line.name, colour: colourOf(line.colour), dash: dashOf(line.dash) })) : []),
    data: () => build(lines).data,
    options: (own) => {
      const plot = build(lines);
      partLines(plot.series, plot.data.slice(1));
      return timeOptions(own, plot);
    },
    after: (plot) => { if (timeRange) applyTimeRange(plot); },
  }).element;
  return [
    frame("delay", "Queue delay", "ms", several ? 190 : 160, delayPlot),
    frame("rate", "Rate", "Mbit/s", several ? 160 : 130, ratePlot),
    frame("backlog", "Backlog", "packets", 110, backlogPlot),
    ...connectionFrames(lines, frame),
    ...biasFrames(lines, frame),
    ...cellFrames(lines, frame),
  ];
}

/** The connections of the lines, each once: those of a line's entry, or of all where no line of the case is of one. */
function connectionsOf(lines) {
  const found = [];
  const cases = lines.filter((line, at) => lines.findIndex((other) => other.index === line.index) === at);
  for (const { index } of cases) {
    const own = lines.filter((line) => line.index === index);
    const grouped = own.filter((line) => line.group);
    for (const connection of seriesOf(index).connections || []) {
      const line = grouped.length ? grouped.find((one) => one.group === connection.group) : own[0];
      if (line) found.push({ line, connection });
    }
  }
  const shown = found.slice(0, OVERLAID);
  // Flows of one line need colours of their own; those of one case each keep that of the case.
  const several = shown.some((one) => shown.some((other) => other !== one && other.line === one.line));
  const isOne = cases.length === 1;
  // In the order of the rows of groups and flows, which have the same colours.
  const flows = [...new Set(shown.map(({ connection }) => connection.flow))].sort();
  return shown.map(({ line, connection }) => ({
    connection, line, colour: several ? flows.indexOf(connection.flow) : line.colour, dash: isOne ? 0 : line.dash,
    name: isOne ? connection.flow : several ? `${line.name} · ${connection.flow}` : line.name,
  }));
}

/** Window, round trip and rates of each connection, where results have them. */
function connectionFrames(lines, frame) {
  const shown = connectionsOf(lines);
  const has = (name) => shown.some(({ connection }) => connection[name].length);
  const more = lines.reduce((sum, line) => sum + (seriesOf(line.index).more_connections || 0), 0);
  const rest = more ? `, of the first ${shown.length} flows` : "";
  const height = shown.length > 1 ? 160 : 140;
  return [
    has("cwnd") ? frame("cwnd", `Congestion window${rest}`, "kB", height, (lines) => connectionPlot(lines, "cwnd", [["slow start threshold", "ssthresh"], ["in flight", "flight"]])) : null,
    has("srtt") ? frame("rtt", "Round trip", "ms", 110, (lines) => connectionPlot(lines, "srtt", [["latest sample", "rtt"]])) : null,
    has("pacing") ? frame("pacing", "Pacing rate", "Mbit/s", 110, (lines) => connectionPlot(lines, "pacing", [["delivery rate", "delivery"]])) : null,
  ].filter(Boolean);
}

const CONNECTION_NAMES = { cwnd: "window", srtt: "smoothed", pacing: "pacing rate" };

/** One quantity of each connection; of a single one also what stands behind it. */
function connectionPlot(lines, name, behind) {
  const all = connectionsOf(lines);
  const shown = all.filter(({ connection }) => connection[name].length);
  const single = shown.length === 1;
  const named = (one, label) => (all.length > 1 ? `${one.name}, ${label}` : label);
  const rows = shown.flatMap((one) => {
    const colour = colourOf(one.colour);
    const main = { label: single ? named(one, CONNECTION_NAMES[name]) : one.name, stroke: colour, width: 1.6, dash: dashOf(one.dash), points: { show: false }, value: valueText };
    const others = single ? behind.filter(([, other]) => one.connection[other].length).map(([label, other], at) => (
      [{ label: named(one, label), stroke: faint(colour, 0.55), width: 1, dash: at || other === "rtt" ? [] : [6, 4], points: { show: false }, value: valueText }, one.connection[other]])) : [];
    return [...others, [main, one.connection[name]]];
  });
  // The state at the end of a bin stands where the next one begins: the last is left out, so that all plots have one axis of time.
  const atEnd = (values) => [null, ...values.slice(0, -1)];
  // A threshold may be far above every window, of which it says nothing.
  const most = Math.max(0, ...shown.flatMap(({ connection }) => [connection[name], single && name === "cwnd" ? connection.flight : [], single && name === "srtt" ? connection.rtt : []].flat().map((value) => value ?? 0)));
  return {
    series: rows.map(([series]) => series),
    data: [commonTime(lines), ...rows.map(([, values]) => atEnd(values))],
    range: () => [0, (most || 1) * 1.08],
  };
}

/** DSD's g, where a queue has one. */
function biasFrames(lines, frame) {
  return lines.some((line) => seriesOf(line.index).bias) ? [frame("bias", "Green first", "probability", 90, biasPlot)] : [];
}

/** The queue is one for all flows of a case: one line for each case. */
function biasPlot(lines) {
  const cases = lines.filter((line, at) => seriesOf(line.index).bias && lines.findIndex((other) => other.index === line.index) === at);
  const colours = theme();
  const series = cases.map((line) => {
    const colour = line.label || lines.length === 1 ? colourOf(line.colour) : colours.soft;
    return { label: cases.length === 1 ? "g" : line.name, stroke: colour, width: 1.4, dash: dashOf(line.dash), paths: stepped, points: { show: false }, value: valueText };
  });
  return { series, data: [commonTime(lines), ...cases.map((line) => seriesOf(line.index).bias)], range: () => [0, 1.05] };
}

/** Plots of cells, where a line is of one. */
function cellFrames(lines, frame) {
  const cells = lines.map((line) => seriesOf(line.index).cell).filter(Boolean);
  if (!cells.length) return [];
  return [
    frame("rlc", "RLC queue", "kB", 110, (shown) => cellPlot(shown, [["most", "rlc_max"], ["mean", "rlc_mean"]], false)),
    frame("used", "Resource blocks used", "%", 90, (shown) => cellPlot(shown, [["used", "used"]], true, 105)),
    cells.some((cell) => cell.mcs.length) ? frame("mcs", "MCS", "", 90, (shown) => cellPlot(shown, [["MCS", "mcs"]], true, 30)) : null,
  ].filter(Boolean);
}

/** Quantities of a cell: all of them of one case, else the last for each case. */
function cellPlot(lines, quantities, isStepped, high = null) {
  const cases = lines.filter((line, at) => seriesOf(line.index).cell && lines.findIndex((other) => other.index === line.index) === at);
  const single = cases.length === 1;
  const colours = theme();
  const shown = cases.flatMap((line) => (single ? quantities : quantities.slice(-1)).map(([label, name], at) => {
    const colour = line.label || lines.length === 1 ? colourOf(line.colour) : colours.soft;
    const behind = single && at < quantities.length - 1;
    const own = { label: single ? label : line.name, stroke: behind && colour.startsWith("#") ? faint(colour, 0.4) : colour, width: behind ? 1 : 1.4, dash: dashOf(line.dash), points: { show: false }, value: valueText };
    return { series: isStepped ? { ...own, paths: stepped } : own, values: seriesOf(line.index).cell[name] };
  }));
  return {
    series: shown.map((one) => one.series), data: [commonTime(lines), ...shown.map((one) => one.values)],
    range: (plot, low, top) => [0, high || (top || 1) * 1.08],
  };
}

const stepped = uPlot.paths.stepped({ align: 1 });
const area = { paths: stepped, width: 0, points: { show: false } };
/** Text of a legend at the cursor; the unit stands in the heading. */
const valueText = (plot, value) => (plot.cursor.idx === null || plot.cursor.idx === undefined ? "" : number(value));
const countText = (plot, value) => (plot.cursor.idx === null || plot.cursor.idx === undefined ? "" : whole(value || 0));

/** The longest of the lines' time axes. */
const commonTime = (lines) => lines.map((line) => seriesOf(line.index).time).reduce((a, b) => (b.length > a.length ? b : a));

function delayPlot(lines) {
  const single = lines.length === 1;
  const series = lines.flatMap((line) => {
    const colour = colourOf(line.colour);
    const middle = { label: single ? "mean" : line.name, stroke: colour, width: 1.6, dash: dashOf(line.dash), points: { show: false }, value: valueText };
    return single ? [{ label: "max", stroke: faint(colour, 0.4), fill: faint(colour, 0.12), width: 1, points: { show: false }, value: valueText }, middle] : [middle];
  });
  const values = lines.flatMap((line) => (single ? [lineSeries(line).max, lineSeries(line).mean] : [lineSeries(line).mean]));
  return { series, data: [commonTime(lines), ...values], range: delayRange(), log: state.seriesLog };
}

/** From 0, or a decade grid; to the largest of the plot, or of all that is selected. */
function delayRange() {
  const largest = state.sameDelay ? Math.max(1, ...entries.filter(isSelected).map((entry) => figureOf(entry, "delay.max"))) : null;
  if (state.seriesLog) return (plot, low, high) => [0.1, Math.max(10, (largest || high || 10) * 1.2)];
  return (plot, low, high) => [0, (largest || high || 1) * 1.06];
}

function ratePlot(lines) {
  const ids = new Set(lines.map((line) => seriesOf(line.index).capacityId));
  const capacity = ids.size === 1 ? seriesOf(lines[0].index).capacity : null;
  const colours = theme();
  const lineOptions = lines.map((line) => ({ label: lines.length > 1 ? line.name : "throughput", stroke: colourOf(line.colour), width: 1.5, dash: dashOf(line.dash), paths: stepped, points: { show: false }, value: valueText }));
  const behind = capacity ? [{ ...area, label: "capacity", fill: colours.area, stroke: colours.area, value: valueText }] : [];
  return {
    series: [...behind, ...lineOptions],
    data: [commonTime(lines), ...(capacity ? [capacity] : []), ...lines.map((line) => lineSeries(line).throughput)],
    range: (plot, low, high) => [0, (high || 1) * 1.06],
  };
}

/** The queue is one for all flows of a case: one line for each case. */
function backlogPlot(lines) {
  const cases = lines.filter((line, at) => lines.findIndex((other) => other.index === line.index) === at);
  const single = cases.length === 1;
  const colours = theme();
  const series = cases.map((line) => {
    const colour = line.label || lines.length === 1 ? colourOf(line.colour) : colours.soft;
    return { label: single ? "backlog" : line.name, stroke: colour, fill: single ? faint(colour.startsWith("#") ? colour : "#888888", 0.14) : undefined, width: 1.2, dash: dashOf(line.dash), points: { show: false }, value: countText };
  });
  const data = [commonTime(lines), ...cases.map((line) => seriesOf(line.index).backlog)];
  if (single) addEvents(series, data, seriesOf(cases[0].index));
  return { series, data, range: (plot, low, high) => [0, (high || 1) * 1.08] };
}

/** Drops and marks as bars from below, in colours of their own. */
function addEvents(series, data, { drops, marks }) {
  addBars(series, data, [["drops", drops, theme().drops], ["marks", marks, theme().marks]]);
}

/** Counts as bars from below, on a scale of their own: the legend has their numbers. */
function addBars(series, data, counts) {
  const bars = uPlot.paths.bars({ size: [1, 4, 1], align: 1 });
  for (const [label, values, colour] of counts) {
    if (!values.some((value) => value > 0)) continue;
    series.push({ label, scale: "events", stroke: colour, fill: colour, width: 0, paths: bars, points: { show: false }, value: countText });
    data.push(values.map((value) => (value > 0 ? value : null)));
  }
}

/** A legend of few stands beside the heading, a longer one below it. */
function mountLegend(frame, table, count) {
  frame.legend.classList.toggle("many", count > 4 || Boolean(frame.spec.hasLegendBelow));
  frame.legend.replaceChildren(table);
}

function timeOptions(frame, { series, range, log, spans = [] }) {
  return {
    padding: [6, 10, 2, 0],
    cursor: TIME_CURSOR,
    legend: { live: true, markers: { width: 0, fill: (plot, index) => plot.series[index]._stroke || plot.series[index].stroke(plot, index) }, mount: (plot, table) => mountLegend(frame, table, series.length) },
    scales: { x: { time: false }, y: { range, distr: log ? 3 : 1 }, events: { range: (plot, low, high) => [0, 3 * Math.max(high || 1, 1)] } },
    series: [{ label: " ", value: (plot, value) => (value === null || value === undefined ? "" : `${tick(value)}\u202fs`) }, ...series],
    axes: [
      axisOptions({ size: 22, space: 64, values: (plot, ticks) => ticks.map((value, at) => (at === ticks.length - 1 ? `${tick(value)} s` : tick(value))) }),
      axisOptions({ size: 46, space: 26, ...(log ? { splits: logSplits, filter: (plot, ticks) => ticks } : {}), values: (plot, ticks) => ticks.map(tick) }),
    ],
    hooks: { setScale: [(plot, key) => onScale(frame, plot, key)], drawAxes: spans.length ? [(plot) => shadeSpans(plot, spans)] : [] },
  };
}
