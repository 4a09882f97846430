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

/** What groups call the figures of rows. */
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
function byFigure(point, name, path) {
  const there = point.runs.map((entry) => rowsOf(entry.item, state.by).get(name)?.figure(path)).filter((value) => value !== null && value !== undefined);
  return there.length ? mean(there) : null;
}

/** Delay at each percentile, the mean over the runs of a point. */
function byCdf(point, name) {
  const curves = point.runs.map((entry) => rowsOf(entry.item, state.by).get(name)?.cdf).filter(Boolean);
  if (!curves.length) return null;
  const alike = curves.filter((cdf) => cdf.percent === curves[0].percent);
  return { percent: curves[0].percent, ms: curves[0].ms.map((_, at) => mean(alike.map((cdf) => cdf.ms[at]))) };
}

/** The selected cases once, not again for their groups of flows, each with its rows. */
function byPoints(points) {
  const seen = new Set();
  const isNew = (point) => { const cases = point.entries.map((entry) => entry.index).join(","); return !seen.has(cases) && seen.add(cases); };
  const names = byNames(state.by);
  const rows = (point) => names.filter((name) => point.runs.some((entry) => rowsOf(entry.item, state.by).has(name)))
    .map((name) => ({ point, name, at: names.indexOf(name), cdf: byCdf(point, name) }));
  return points.filter(isNew).map((point) => ({ point, label: describe(point.entry, [FLOWS]), rows: rows(point) })).filter(({ rows }) => rows.length);
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
    return byPlace.append(make("p", { class: "empty", text }));
  }
  const drawn = points.filter(({ rows }) => rows.some(({ cdf }) => cdf)).slice(0, BY_PLOTS);
  byPlace.append(make("div", { class: drawn.length > 1 ? "cards" : "cards one" }, ...drawn.map((point) => byFrame(point).element)), ...byTable(points));
  if (points.length > drawn.length) byPlace.append(make("p", { class: "note", text: `Distributions of the first ${plural(drawn.length, "case")}; select fewer to see the others.` }));
}

function byTable(points) {
  const rows = points.flatMap(({ point, label, rows }) => rows.map((row, at) => ({ ...row, point, label, isFirst: at === 0 })));
  const columns = BY_COLUMNS.filter(({ path, ifSome }) => rows.some(({ point, name }) => { const value = byFigure(point, name, path); return value !== null && (!ifSome || ifSome(value)); }));
  const ends = rows.flatMap(({ cdf }) => (cdf ? [delayAt(cdf, 0), delayAt(cdf, 99)] : []));
  const most = Math.max(...ends, LEAST_MS * 2);
  const scale = ends.length ? { least: state.byLog ? Math.max(LEAST_MS, Math.min(...ends), most / 1e4) : 0, most } : null;
  const head = (text, help, kind) => make("th", { scope: "col", class: kind, title: help, text });
  const boxHelp = "Least to 99th percentile as a line, the quartiles as a box, the median as a mark";
  const table = make("table", { class: "plain by" },
    make("thead", {}, make("tr", {}, head(""), head(byTitle(state.by)), ...(scale ? [head(`Delay, ${number(scale.least)} to ${number(scale.most)} ms`, boxHelp)] : []),
      ...columns.map((column) => make("th", { scope: "col", class: "figure", title: column.help }, column.title, column.unit ? make("small", { text: column.unit }) : null)))),
    make("tbody", {}, ...limited(rows, (row) => byRow(row, columns, scale), 3 + columns.length)));
  return [make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `By ${byTitle(state.by)}` }, table)];
}

function byRow({ point, label, name, at, cdf, isFirst }, columns, scale) {
  const text = (column) => {
    const value = byFigure(point, name, column.path);
    return value === null ? number(null) : (column.text || number)(value * (column.factor || 1));
  };
  return make("tr", { "data-by": name, onmouseenter: () => focusBy(point.key, name), onmouseleave: () => focusBy(point.key, null) },
    make("td", { class: "text" }, ...(isFirst ? [swatch(colourOf(point.colour), shapeOf(point.shape)), ` ${label}`] : [])),
    make("td", { class: "text" }, swatch(colourOf(at), null, dashOf(Math.floor(at / 8))), ` ${name}`),
    ...(scale ? [make("td", { class: "quantum" }, cdf ? delayBox(cdf, scale, colourOf(at)) : null)] : []),
    ...columns.map((column) => make("td", { class: "figure", text: text(column) })));
}

/** A box from quartile to quartile on a line from the least delay to the 99th percentile. */
function delayBox(cdf, { least, most }, colour) {
  const along = state.byLog ? (value) => Math.log(Math.max(value, least) / least) / Math.log(most / least) : (value) => value / most;
  const place = (value) => 100 * Math.min(1, Math.max(0, along(value)));
  const [low, p25, p50, p75, high] = [0, 25, 50, 75, 99].map((percent) => delayAt(cdf, percent));
  const part = (kind, from, to) => make("span", { class: kind, style: `left:${place(from).toFixed(2)}%;width:${(place(to) - place(from)).toFixed(2)}%;background:${colour}` });
  return make("div", { class: "delay-box", title: `${number(low)} ms to ${number(high)} ms (99 %), quartiles ${number(p25)}, ${number(p50)}, ${number(p75)} ms` },
    part("range", low, high), part("quartiles", p25, p75), make("span", { class: "median", style: `left:${place(p50).toFixed(2)}%` }));
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
