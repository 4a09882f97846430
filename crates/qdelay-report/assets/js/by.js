"use strict";
// Who got what: a row for each UE, flow, slice, class or group of flows of each selected case, with a box for its queue delay, and the
// distributions of these.

const BY_KINDS = [["ue", "UE"], ["flow", "Flow"], ["slice", "Slice"], ["class", "5QI"], ["group", "Group"]]
  .filter(([kind]) => (kind === "group" ? data.groups.length > 0 : data.cases.some((item) => item.by && own(item.by, kind))));
const BY_TITLES = { class: () => (byNames("class").some((name) => name.startsWith("qci")) ? "QCI" : "5QI") };
const byTitle = (kind) => (BY_TITLES[kind] ? BY_TITLES[kind]() : BY_KINDS.find(([known]) => known === kind)[1]);
const BY_PLOTS = 4; // distributions of more cases are not drawn

const BY_COLUMNS = [
  { title: "Rate", unit: "Mbit/s", path: "throughput", help: "IP bytes that left the bottleneck" },
  { title: "Mean", unit: "ms", path: "mean", help: "Queue delay, mean" },
  { title: "p95", unit: "ms", path: "p95", help: "Queue delay, 95th percentile" },
  { title: "p99", unit: "ms", path: "p99", help: "Queue delay, 99th percentile" },
  { title: "Loss", unit: "%", path: "loss", factor: 100, help: "Data packets lost over sent, whole run" },
  { title: "In budget", unit: "%", path: "within", factor: 100, help: "Of the packets handed up those within the packet delay budget of their QCI or 5QI" },
  { title: "MOS", unit: "", path: "mos", help: "Mean opinion score of its calls, 1 to 4.5" },
  { title: "Took, p50", unit: "ms", path: "took50", help: "From the start of a finite download until its last byte was there, median" },
  { title: "p95", unit: "ms", path: "took95", help: "The same, 95th percentile" },
  { title: "Done", unit: "", path: "done", text: whole, help: "Finite downloads that were complete" },
  { title: "Not done", unit: "", path: "open", text: whole, help: "Finite downloads that were not complete at the end", ifSome: (value) => value > 0 },
  { title: "Budget", unit: "ms", path: "budget", help: "Packet delay budget of its QCI or 5QI; of several the shortest" },
  { title: "Max", unit: "ms", path: "max", help: "Queue delay, maximum" },
  { title: "Flows", unit: "", path: "flows", text: whole, help: "How many flows it has", ifSome: (value) => value > 1 },
];

/** Names of the figures of rows in groups. */
const OF_GROUP = {
  throughput: "throughput", mean: "delay.mean", p50: "delay.p50", p95: "delay.p95", p99: "delay.p99", max: "delay.max", loss: "loss",
  mos: "mos", budget: "budget", within: "within", done: "done", open: "open", took50: "took.p50", took95: "took.p95",
};

const byRows = new WeakMap(); // case -> kind -> name -> its figures and distribution
/** The rows of a case of one kind, by name. */
function rowsOf(item, kind) {
  if (!byRows.has(item)) byRows.set(item, {});
  return (byRows.get(item)[kind] ||= new Map(kind === "group" ? groupRows(item) : partRowsOf(item, kind)));
}

function partRowsOf(item, kind) {
  const rows = (item.by && own(item.by, kind)) || [];
  return rows.map(([name, figures, ms]) => [name, {
    figure: (path) => figures[data.by_figures.indexOf(path)] ?? null,
    cdf: ms.length ? { percent: data.by_percents, ms } : null,
  }]);
}

function groupRows(item) {
  return data.groups.filter((name) => own(item.groups || {}, name)).map((name) => {
    const cdf = own(item.group_cdf || {}, name);
    return [name, {
      figure: (path) => item.groups[name][FIGURE_AT.get(own(OF_GROUP, path))] ?? null,
      cdf: cdf && cdf.ms.length ? { percent: data.percents[cdf.percent], ms: cdf.ms } : null,
    }];
  });
}

/** Names with numbers in their order: `ue-2` before `ue-10`. */
const inOrder = (names) => [...names].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
const byNames = (kind) => inOrder(new Set(data.cases.flatMap((item) => [...rowsOf(item, kind).keys()])));

/** A figure over the runs of a point; null where none has it. */
const byFigure = (point, name, path) => meanOver(point.runs, (entry) => rowsOf(entry.item, state.by).get(name)?.figure(path));

/** Delay at each percentile, the mean over the runs of a point. */
function byCdf(point, name) {
  const curves = point.runs.map((entry) => rowsOf(entry.item, state.by).get(name)?.cdf).filter(Boolean);
  if (!curves.length) return null;
  const alike = curves.filter((cdf) => cdf.percent === curves[0].percent);
  return { percent: curves[0].percent, ms: curves[0].ms.map((_, at) => mean(alike.map((cdf) => cdf.ms[at]))) };
}

/** The selected cases, each with its rows. */
function byPoints(points) {
  const names = byNames(state.by);
  const rows = (point) => names.filter((name) => point.runs.some((entry) => rowsOf(entry.item, state.by).has(name)))
    .map((name) => ({ point, name, at: names.indexOf(name), cdf: byCdf(point, name) }));
  return casesOnce(points).map(({ point, label }) => ({ point, label, rows: rows(point) })).filter(({ rows }) => rows.length);
}

const byPlace = make("div");
const byTools = make("div", { class: "tools" });

function renderByTools() {
  byTools.replaceChildren(
    ...(BY_KINDS.length > 1 ? [segmented("By", "by", BY_KINDS.map(([kind]) => [kind, byTitle(kind)]), renderBy)] : []),
    toggle("log delay", "byLog", renderBy, "Equal distances are equal ratios, in boxes and distributions"));
}

function renderBy() {
  remember();
  clearFrames(byPlace);
  const points = byPoints(selectedPoints());
  if (!points.length) {
    const text = data.by_left_out ? "The selected cases have no rows, to keep this file small." : `Nothing is selected that has a ${byTitle(state.by)}.`;
    return byPlace.append(nothingIn(text));
  }
  const drawn = points.filter(({ rows }) => rows.some(({ cdf }) => cdf)).slice(0, BY_PLOTS);
  byPlace.append(make("div", { class: drawn.length > 1 ? "cards" : "cards one" }, ...drawn.map((point) => byFrame(point).element)), byTable(points));
  if (points.length > drawn.length) byPlace.append(make("p", { class: "note", text: `Distributions of the first ${plural(drawn.length, "case")}; select fewer to see the others.` }));
}

function byTable(points) {
  const rows = points.flatMap(({ label, rows }) => rows.map((row) => ({ ...row, label })));
  const columns = BY_COLUMNS.filter(({ path, ifSome }) => rows.some(({ point, name }) => { const value = byFigure(point, name, path); return value !== null && (!ifSome || ifSome(value)); }));
  const ends = rows.flatMap(({ cdf }) => (cdf ? [delayAt(cdf, 0), delayAt(cdf, 99)] : []));
  const most = Math.max(...ends, LEAST_MS * 2);
  const scale = ends.length ? { least: state.byLog ? Math.max(LEAST_MS, Math.min(...ends), most / 1e4) : 0, most } : null;
  const boxHelp = "Least to 99th percentile as a line, the quartiles as a box, the median as a mark";
  const heads = [headCell({}), headCell({ title: byTitle(state.by) }), ...(scale ? [headCell({ title: `Delay, ${number(scale.least)} to ${number(scale.most)} ms`, help: boxHelp })] : []),
    ...columns.map((column) => make("th", { scope: "col", class: "figure", title: column.help }, column.title, column.unit ? make("small", { text: column.unit }) : null))];
  return plainTable(`By ${byTitle(state.by)}`, "by", heads, rows, (row, at) => byRow(row, columns, scale, isFirstOf(rows, at)));
}

function byRow({ point, label, name, at, cdf }, columns, scale, isFirst) {
  return make("tr", { "data-by": name, onmouseenter: () => focusBy(point.key, name), onmouseleave: () => focusBy(point.key, null) },
    pointCell(point, label, isFirst), make("td", { class: "text" }, swatch(colourOf(at), null, dashOf(Math.floor(at / 8))), ` ${name}`),
    ...(scale ? [make("td", { class: "quantum" }, cdf ? delayBox(cdf, scale, colourOf(at)) : null)] : []),
    ...columns.map((column) => figureCell(columnText(column, byFigure(point, name, column.path)))));
}

/** The box of a delay, from its least to its 99th percentile. */
function delayBox(cdf, { least, most }, colour) {
  const scale = { low: state.byLog ? least : 0, high: most, log: state.byLog };
  const five = [0, 25, 50, 75, 99].map((percent) => delayAt(cdf, percent));
  const [low, p25, p50, p75, high] = five.map(number);
  const place = (value) => 100 * Math.min(1, Math.max(0, shareOf(scale, value)));
  return quartileBox("delay-box", `${low} ms to ${high} ms (99 %), quartiles ${p25}, ${p50}, ${p75} ms`, five, place, colour);
}

/** The distributions of the rows of a case. */
function byFrame({ point, label, rows }) {
  const curves = rows.filter(({ cdf }) => cdf).map(({ name, at, cdf }) => ({
    cdf, point: { ...point, label: name, colour: at, shape: Math.floor(at / 8), isPart: true },
  }));
  const title = `Queue delay by ${/^[A-Z]{2}|^5/.test(byTitle(state.by)) ? byTitle(state.by) : byTitle(state.by).toLowerCase()}`;
  return makeFrame({
    kind: "by", name: `by ${state.by} ${label}`, height: 340, title, unit: casesDiffer() ? label : "", curves, of: point.key,
    describe: `Distribution of the queue delay of ${plural(curves.length, "row")} of ${label}`,
    key: () => curves.map(({ point }) => ({ text: point.label, colour: colourOf(point.colour), dash: dashOf(point.shape) })),
    data: () => cdfData(curves, cdfRange(curves, state.byLog), undefined, state.byLog),
    options: (frame) => cdfOptions(frame, curves, "queue delay", state.byLog),
    after: (plot) => plot.over.addEventListener("mouseleave", hideHint),
  });
}

/** Whether labels of cases tell anything. */
const casesDiffer = () => tellingAxes.some((axis) => axis !== FLOWS);

/** A row of the table points at its curve. */
function focusBy(key, name) {
  for (const [frame, plot] of live) {
    if (frame.spec.kind !== "by" || frame.spec.of !== key) continue;
    const index = frame.spec.curves.findIndex(({ point }) => point.label === name);
    plot.setSeries(index < 0 ? null : index + 1, { focus: true });
  }
}
