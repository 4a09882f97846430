"use strict";
// Viewers: figures of users of calls, video streams and browsers, and two cases side by side over time, on the same scales.

const COMPARED = 2;

/** The figures of each kind: a title, a unit, the figure, what it is, and how it is told if not as `number`. */
const VIEWER_COLUMNS = {
  video: [
    ["Frozen", "% of time", (of) => 100 * of.freeze_share, "Share of time for which the picture was frozen"],
    ["Freezes", "", (of) => of.freezes, "How often the picture froze", whole],
    ["Late", "% of frames", (of) => 100 * of.late, "Frames decoded after the time at which they were to be shown"],
    ["Not shown", "% of frames", (of) => 100 * of.frozen, "Frames that were never decoded"],
    ["Frame delay, mean", "ms", (of) => of.delay_mean_ms, "From capture until all of the frame had come"],
    ["p95", "ms", (of) => of.delay_p95_ms, "95th percentile of the frame delay"],
    ["Target rate", "Mbit/s", (of) => of.target_mbps, "Mean of the rate that the control of the call allowed"],
    ["Height", "pixels", (of) => of.height, "Mean height of the pictures shown", whole],
    ["MOS", "", (of) => of.mos, "Mean opinion score of the pictures by ITU-T P.1203.1, mode 0; freezes and delay do not count in it"],
  ],
  stream: [
    ["Startup", "ms", (of) => of.startup_ms, "From the start to the first picture"],
    ["Stalls", "", (of) => of.stalls, "Times that playback stopped for want of video", whole],
    ["Stalled", "s", (of) => of.stalled_s, "How long that was"],
    ["Bit rate", "Mbit/s", (of) => of.bitrate_mbps, "Mean bit rate of the chunks"],
    ["Switches", "", (of) => of.switches, "Chunks at another bit rate than the one before", whole],
    ["Played", "s", (of) => of.played_s, "Video that was played"],
    ["QoE", "", (of) => of.qoe, "Quality of experience (Yin et al. 2015): bit rates less their changes and less a penalty for waiting"],
    ["QoE per chunk", "", (of) => of.qoe_per_chunk, "At most the highest bit rate"],
  ],
  web: [
    ["Pages", "", (of) => of.pages, "Page loads that were complete", whole],
    ["Load time, mean", "ms", (of) => of.load_ms, "From the start of a load until its last object was there"],
    ["p50", "ms", (of) => of.load_p50_ms, "Median of the load times"],
    ["p95", "ms", (of) => of.load_p95_ms, "95th percentile of the load times"],
    ["Max", "ms", (of) => of.load_max_ms, "The longest load"],
  ],
};
const VIEWER_KINDS = Object.keys(VIEWER_COLUMNS);
const viewerKind = (viewer) => VIEWER_KINDS.find((kind) => viewer[kind]);

/** The flows of any case whose users had something; of each its kind. */
const viewerFlows = [...new Map(data.cases.flatMap((item) => (item.viewers || []).map((viewer) => [viewer.flow, viewerKind(viewer)])))];

/** The heading of the section says what there is. */
const viewersTitle = () => {
  const kinds = VIEWER_KINDS.filter((kind) => viewerFlows.some(([, known]) => known === kind));
  const names = kinds.map((kind) => ({ video: "calls", stream: "streams", web: "pages" })[kind]).join(", ").replace(/, ([^,]*)$/, " and $1");
  return names.charAt(0).toUpperCase() + names.slice(1);
};

/** The axis of which two labels stand side by side: that of the colours, else the first that tells cases apart. */
const comparedAxis = () => {
  const fits = (axis) => axis !== undefined && axis >= 0 && axis !== FLOWS;
  return [state.colour, ...tellingAxes].find(fits) ?? (SEED >= 0 && varies(SEED) ? SEED : -1);
};
/** The seed is one of them: what is shown is a run, and no mean over runs. */
const heldAxes = () => axes.map((_, axis) => axis).filter((axis) => axis !== comparedAxis() && axis !== FLOWS && varies(axis));
const selectedLabels = (axis) => [...state.selected[axis]].sort((a, b) => a - b);
const viewedFlow = () => (viewerFlows.some(([flow]) => flow === state.viewer) ? state.viewer : viewerFlows[0][0]);

/** The label that is held on an axis that is not compared. */
const heldLabel = (axis) => (state.selected[axis].has(state.held[axis]) ? state.held[axis] : selectedLabels(axis)[0]);

/** The labels that stand side by side: the chosen ones, else the first and the last that are selected. */
function comparedLabels() {
  const labels = selectedLabels(comparedAxis());
  const chosen = (label, fallback) => (state.selected[comparedAxis()].has(label) ? label : fallback);
  return [chosen(state.left, labels[0]), chosen(state.right, labels[labels.length - 1])];
}

/** The sides of the comparison: case, name, colour, figures and series of the viewed flow. */
function viewerSides() {
  const axis = comparedAxis();
  const labels = axis < 0 ? [null] : comparedLabels();
  const held = heldAxes();
  const isHeld = (entry, other) => entry.at[other] === heldLabel(other);
  const fits = (entry, label) => !entry.group && (axis < 0 || entry.at[axis] === label) && held.every((other) => other === SEED || isHeld(entry, other)) && viewerOf(entry);
  const sides = labels.map((label, place) => {
    const every = entries.filter((entry) => fits(entry, label));
    // Folders side by side may have other seeds.
    const ofSeed = held.includes(SEED) ? every.filter((entry) => isHeld(entry, SEED)) : every;
    const found = ofSeed.length ? ofSeed : every;
    const entry = found.find((candidate) => candidate.item.series) || found[0];
    return entry && sideOf(entry, label, place);
  });
  return sides.filter(Boolean).slice(0, COMPARED);
}

const viewerOf = (entry) => (entry.item.viewers || []).find((viewer) => viewer.flow === viewedFlow());

function sideOf(entry, label, place) {
  const viewer = viewerOf(entry);
  const series = seriesOf(entry.index);
  const axis = comparedAxis();
  const colour = colourOf(axis >= 0 && axis === state.colour ? label : 0);
  const name = axis < 0 ? entry.item.id : axes[axis].labels[label];
  const over = series && own(series.viewers || {}, viewer.flow);
  return { entry, viewer, name, colour, place, series, kind: viewerKind(viewer), over: over ? over[viewerKind(viewer)] : null };
}

// ---- choosing

const viewersPlace = make("div");
const viewersTools = make("div", { class: "tools viewers-tools" });

function picker(text, name, chosen, choices, choose) {
  const select = make("select", { name, onchange: () => { choose(select.value); renderViewers(); } },
    ...choices.map(([value, label]) => make("option", { value: String(value), selected: value === chosen, text: label })));
  return make("label", { class: "choice" }, make("span", { text }), select);
}

function renderViewerTools() {
  const axis = comparedAxis();
  const labels = (of) => selectedLabels(of).map((label) => [label, axes[of].labels[label]]);
  const focus = document.activeElement?.closest(".viewers-tools") ? document.activeElement.name : null;
  const sides = axis >= 0 && state.selected[axis].size ? comparedLabels() : [];
  viewersTools.replaceChildren(
    ...(sides.length ? [
      picker("Left", "left", sides[0], labels(axis), (value) => { state.left = Number(value); }),
      picker("Right", "right", sides[1], labels(axis), (value) => { state.right = Number(value); })] : []),
    ...heldAxes().filter((other) => state.selected[other].size > 1).map((other) => picker(axisTitle(other), `held-${other}`, heldLabel(other), labels(other), (value) => { state.held[other] = Number(value); })),
    ...(viewerFlows.length > 1 ? [picker("Flow", "viewer", viewedFlow(), viewerFlows.map(([flow]) => [flow, flow]), (value) => { state.viewer = value; })] : []),
    ...(viewerFlows.some(([, kind]) => kind === "video") ? [toggle("log delay", "viewerLog", renderViewers, "Equal distances are equal ratios, in plots of delays")] : []));
  if (focus) viewersTools.querySelector(`[name="${focus}"]`)?.focus();
}

// ---- the table and the plots

function renderViewers() {
  remember();
  clearFrames(viewersPlace);
  renderViewerTools();
  const sides = viewerSides();
  if (!sides.length) return viewersPlace.append(nothing());
  const kind = sides[0].kind;
  viewersPlace.append(viewerTable(sides, kind));
  const drawn = sides.filter((side) => side.over && side.kind === kind);
  if (!drawn.length) return viewersPlace.append(noSeries());
  // Row by row, so that plots of one quantity stand beside each other, or below each other where there is no room.
  const rows = VIEWER_ROWS[kind].map((row) => drawn.map((side) => viewerFrame(row, side, drawn)));
  viewersPlace.append(viewerKey(kind, drawn), make("div", { class: drawn.length > 1 ? "card viewers" : "card viewers one" },
    ...drawn.map((side) => make("h3", { class: "viewer-head" }, swatch(side.colour, "square"), side.name)), ...rows.flat()));
}

function viewerTable(sides, kind) {
  const columns = VIEWER_COLUMNS[kind];
  const row = (side) => make("tr", { "data-viewer": side.name }, make("th", { scope: "row", class: "text" }, swatch(side.colour, "square"), ` ${side.name}`),
    ...columns.map(([, , of, , text = number]) => figureCell(side.viewer[kind] ? text(of(side.viewer[kind])) : number(null))));
  return plainTable(viewersTitle(), "viewer-table", [headCell({}), ...figureHeads(columns.map(([title, unit, , help]) => ({ title, unit, help })))], sides, row);
}

/** Meanings of shaded spans. */
const SPANS = {
  frozen: ["--frozen", "picture frozen"],
  stalled: ["--frozen", "stalled"],
  startup: ["--waiting", "waiting for the first picture"],
};

function viewerKey(kind, sides) {
  const names = Object.keys(SPANS).filter((name) => sides.some(({ over }) => over[name]?.some((ms) => ms > 0)));
  return names.length ? make("ul", { class: "key", "aria-label": "Key" }, ...names.map((name) => make("li", {}, swatch(styled(SPANS[name][0]), "square"), SPANS[name][1]))) : "";
}

const colourless = (side, behind) => (behind ? faint(side.colour, 0.4) : side.colour);
const lineFor = (label, stroke, more = {}) => ({ label, stroke, width: 1.6, points: { show: false }, value: valueText, ...more });

/** The rows of plots of each kind: title, unit, height, spans that are shaded, and lines with their values. */
const VIEWER_ROWS = {
  video: [
    { kind: "rate", title: "Rate", unit: "Mbit/s", height: 150, lines: rateLines },
    { kind: "frames", title: "Delay to display", unit: "ms", height: 150, spans: ["frozen"], isDelay: true, lines: (side) => [
      [lineFor("longest", colourless(side, true), { width: 1, fill: state.viewerLog ? undefined : faint(side.colour, 0.12), paths: stepped }), side.over.shown_max],
      [lineFor("mean", side.colour, { paths: stepped }), side.over.shown],
      [lineFor("received", theme().soft, { width: 1.2, dash: [4, 3], paths: stepped }), side.over.received]] },
    { kind: "picture", title: "Picture", unit: "pixels high", height: 130, spans: ["frozen"], lines: (side) => [
      [lineFor("height", side.colour, { width: 2, paths: stepped, value: countText }), side.over.height],
      ...frameBars(side.over)] },
  ],
  stream: [
    { kind: "rate", title: "Rate", unit: "Mbit/s", height: 150, lines: rateLines },
    { kind: "bitrate", title: "Bit rate", unit: "Mbit/s", height: 130, spans: ["startup", "stalled"], lines: (side) => [
      [lineFor("requested", theme().soft, { width: 1.2, dash: [4, 3], paths: stepped }), side.over.chosen],
      [lineFor("on screen", side.colour, { width: 2, paths: stepped }), side.over.shown]] },
    { kind: "buffer", title: "Buffer", unit: "s of video", height: 130, spans: ["startup", "stalled"], lines: (side) => [
      [lineFor("buffer", side.colour, { fill: faint(side.colour, 0.14), paths: stepped }), side.over.buffer]] },
  ],
  web: [
    { kind: "rate", title: "Rate", unit: "Mbit/s", height: 150, lines: rateLines },
    { kind: "loads", title: "Page loads", unit: "ms", height: 150, isDelay: true, lines: (side) => [
      [lineFor("longest", colourless(side, true), { width: 0, points: { show: true, size: 4 } }), side.over.max],
      [lineFor("mean", side.colour, { width: 0, points: { show: true, size: 5, fill: side.colour } }), side.over.mean]] },
  ],
};

/** The rates that the link offered, that left it, and that the control of a call allowed. */
function rateLines(side) {
  const { series, viewer } = side;
  const group = own(series.groups, viewer.group);
  const colours = theme();
  return [
    ...(series.capacity ? [[{ ...area, label: "link", fill: colours.area, stroke: colours.area, value: valueText }, series.capacity]] : []),
    [lineFor(group ? `throughput of ${viewer.group}` : "throughput", side.colour, { width: 1.5, paths: stepped }), (group || series).throughput],
    ...(side.over.target ? [[lineFor("target", colours.soft, { width: 1.2, dash: [4, 3], paths: stepped }), side.over.target]] : []),
  ];
}

/** Late frames and frames that were never shown, as bars from below. */
function frameBars(over) {
  const [series, values] = [[], []];
  addBars(series, values, [["frames late or never shown", over.late.map((late, at) => late + over.not_shown[at]), theme().drops]]);
  return series.map((one, at) => [one, values[at]]);
}

/** The largest value of a row over all sides: they have one scale. */
function rowRange(row, sides) {
  const all = sides.flatMap((side) => row.lines(side).filter(([line]) => line.scale !== "events").flatMap(([, values]) => values.filter((value) => value !== null)));
  const largest = all.reduce((most, value) => Math.max(most, value), 0);
  if (!(row.isDelay && state.viewerLog)) return () => [0, (largest || 1) * 1.08];
  const least = all.reduce((low, value) => Math.min(low, value), largest);
  return () => [Math.max(1, least * 0.8), Math.max(10, largest * 1.2)];
}

function viewerFrame(row, side, sides) {
  const spans = (row.spans || []).flatMap((name) => spansOf(side.over[name], side.series.bin).map((span) => [...span, SPANS[name][0]]));
  const told = (row.spans || []).map((name) => {
    const sum = side.over[name].reduce((all, ms) => all + ms, 0);
    return `; ${SPANS[name][1]} for ${number(sum / 1000)} s`;
  });
  const log = row.isDelay && state.viewerLog;
  const lines = () => row.lines(side);
  return makeFrame({
    kind: row.kind, name: `${row.kind} viewer ${side.name}`, title: row.title, unit: row.unit, side: side.name, height: row.height, time: true, hasLegendBelow: true,
    describe: `${row.title} over time, ${side.name}${told.join("")}`,
    key: () => [{ text: side.name, colour: side.colour, dash: [] }],
    data: () => [side.series.time, ...lines().map(([, values]) => values)],
    options: (frame) => timeOptions(frame, { series: lines().map(([line]) => line), range: rowRange(row, sides), log, spans }),
    after: (plot) => { if (timeRange) applyTimeRange(plot); },
  }).element;
}

/**
 * Spans of time of the milliseconds in each bin. A bin that is not full has them at its end where they go on in the next bin, else at
 * its beginning.
 */
function spansOf(milliseconds, bin) {
  const spans = [];
  milliseconds.forEach((ms, at) => {
    if (!(ms > 0)) return;
    const length = Math.min(ms / 1000, bin);
    const goesOn = milliseconds[at + 1] > 0 && !(milliseconds[at - 1] > 0);
    const from = at * bin + (goesOn ? bin - length : 0);
    const last = spans[spans.length - 1];
    if (last && from - last[1] < 1e-6 * bin) last[1] = from + length;
    else spans.push([from, from + length]);
  });
  return spans;
}

/** Shades spans behind the lines, with an edge above that is seen where they are narrow. */
function shadeSpans(plot, spans) {
  const { ctx, bbox } = plot;
  const scale = devicePixelRatio;
  clipped(ctx, [bbox.left, bbox.top, bbox.width, bbox.height], () => {
    for (const [from, to, colour] of spans) {
      const left = plot.valToPos(from, "x", true);
      const width = Math.max(plot.valToPos(to, "x", true) - left, scale);
      ctx.fillStyle = faint(styled(colour), 0.2);
      ctx.fillRect(left, bbox.top, width, bbox.height);
      ctx.fillStyle = styled(colour);
      ctx.fillRect(left, bbox.top, width, 3 * scale);
    }
  });
}
