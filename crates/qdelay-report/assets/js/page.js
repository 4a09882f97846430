"use strict";
// The page: what was run, controls, and what is built anew when a control changes.

// ---- small parts

const axisTitle = (axis) => {
  const short = (name) => name.replace(/^(path|flow|run)\./, "").replaceAll(".", " ");
  const title = short(axes[axis].name);
  return axes.some((other, at) => at !== axis && short(other.name) === title) ? axes[axis].name : title;
};

/** A choice of one of few, side by side. */
function segmented(legend, name, choices, change) {
  const choice = ([value, text]) => make("label", {},
    make("input", { type: "radio", name, value, checked: state[name] === value, onchange: () => { state[name] = value; change(); } }), make("span", { text }));
  return make("fieldset", { class: "segmented" }, make("legend", { text: legend }), ...choices.map(choice));
}

function toggle(text, name, change, help = null) {
  return make("label", { class: "toggle", title: help },
    make("input", { type: "checkbox", name, checked: state[name], onchange: (event) => { state[name] = event.target.checked; change(); } }), make("span", { text }));
}

function choice(text, name, choices, change) {
  const select = make("select", { name, onchange: () => { state[name] = typeof state[name] === "number" ? Number(select.value) : select.value; change(); } },
    ...choices.map(([value, label]) => make("option", { value: String(value), selected: state[name] === value, text: label })));
  return make("label", { class: "choice" }, make("span", { text }), select);
}

const section = (id, title, ...children) => make("section", { id, "aria-labelledby": `${id}-title` }, make("h2", { id: `${id}-title`, text: title }), ...children);

/** Rows that show what keys mean; colours and shapes of what is selected. */
function keyLine(points) {
  const items = pointKey(points, { lines: false }).map((item) => make("li", {}, swatch(item.colour, item.shape || "circle"), item.text));
  return items.length > 1 || state.colour >= 0 ? make("ul", { class: "key", "aria-label": "Key" }, ...items) : null;
}

// ---- header

function durations() {
  const values = new Set(data.folders.map((folder) => folder.settings["run.duration"]).filter(Boolean));
  return values.size === 1 ? `${[...values][0]} each` : null;
}

function header() {
  const product = axes.map((axis, at) => [at, axis]).filter(([at]) => varies(at) && at !== FLOWS)
    .map(([at, axis]) => `${axis.labels.length} ${axisTitle(at)}${axisTitle(at).endsWith("s") ? "" : "s"}`).join(" × ");
  const facts = [plural(data.cases.length, "case"), product, durations()].filter(Boolean);
  const abouts = [...new Set(data.folders.map((folder) => folder.about.trim()).filter(Boolean))];
  return make("header", { class: "top" },
    make("h1", { text: data.title || "Results" }),
    make("p", { class: "meta" }, facts.join("  ·  "), verdictPill()),
    ...abouts.flatMap((about) => paragraphs(about)), ...notices());
}

const paragraphs = (text) => text.split(/\n\s*\n/).map((paragraph) => make("p", { class: "about", text: paragraph.replace(/\s+/g, " ").trim() }));

function verdictPill() {
  const all = data.folders.flatMap((folder) => folder.expects);
  if (!all.length) return null;
  const good = all.filter((expect) => expect.verdict !== "miss").length;
  const kind = good === all.length ? "good" : "bad";
  return make("a", { class: `pill ${kind}`, href: "#expectations", text: `${good === all.length ? "✓" : "✗"} ${good} of ${plural(all.length, "expectation")} met` });
}

function notices() {
  const lines = [];
  for (const folder of data.folders) {
    for (const sentence of folder.unverified || []) lines.push(`${sentence}${data.folders.length > 1 ? ` (${folder.name})` : ""}`);
    for (const [name, trace] of Object.entries(folder.traces)) {
      if (trace.substitute_for) lines.push(`${name} stands in for ${trace.substitute_for}, which was not at hand${data.folders.length > 1 ? ` (${folder.name})` : ""}.`);
    }
  }
  if (data.series === "first") lines.push("Time series of the first seed of each point only, to keep this file small.");
  if (data.series === "none") lines.push("Without time series, to keep this file small: a report of fewer cases has them.");
  lines.push(...(data.cautions || []));
  lines.push(...(data.coinciding || []));
  if (data.by_left_out) lines.push("UEs and flows of the first cases only, to keep this file small.");
  if (data.percentile_of > 1) lines.push(`Distributions have one of ${data.percentile_of} of their percentiles, to keep this file small.`);
  return [...new Set(lines)].map((text) => make("p", { class: "notice", text }));
}

// ---- selection

function chips(axis) {
  const boxes = axes[axis].labels.map((label, at) => {
    const mark = axis === state.colour ? swatch(colourOf(at), axis === state.shape ? shapeOf(at) : "circle") : axis === state.shape ? swatch(theme().soft, shapeOf(at)) : null;
    const box = make("input", { type: "checkbox", value: String(at), checked: state.selected[axis].has(at), onchange: () => { state.selected[axis][box.checked ? "add" : "delete"](at); update(); } });
    const only = () => { state.selected[axis] = new Set([at]); renderSide(); update(); };
    return make("label", { class: "chip", title: `${label} (double click: only this)`, ondblclick: only }, box, make("span", {}, mark, label));
  });
  const every = () => {
    const full = state.selected[axis].size === axes[axis].labels.length;
    state.selected[axis] = new Set(full ? [] : axes[axis].labels.keys());
    renderSide();
    update();
  };
  return make("fieldset", { class: "axis", "data-axis": axes[axis].name },
    make("legend", {}, make("span", { text: axisTitle(axis), title: axes[axis].name }), make("button", { type: "button", class: "quiet", text: "all / none", "aria-label": `All or none of ${axisTitle(axis)}`, onclick: every })),
    make("div", { class: "chips" }, ...boxes));
}

function appearance() {
  const named = tellingAxes.map((axis) => [axis, axisTitle(axis)]);
  const change = () => { renderSide(); update(); };
  return make("fieldset", { class: "axis" }, make("legend", {}, make("span", { text: "Appearance" })),
    choice("Colour", "colour", [[-1, "one"], ...named], change),
    choice("Shape and dash", "shape", [[-1, "one"], ...named], change),
    choice("Panels", "panels", [[-1, "one"], ...named], change),
    SEED >= 0 && varies(SEED) ? toggle("each seed by itself", "each", change, "Otherwise the mean over seeds, with its 95 % interval") : null);
}

let side;
function renderSide() {
  const focus = document.activeElement && side.contains(document.activeElement) ? [...side.querySelectorAll("input, select, button")].indexOf(document.activeElement) : -1;
  const chosen = axes.map((_, axis) => axis).filter(varies);
  side.replaceChildren(...chosen.map(chips), ...(tellingAxes.length ? [appearance()] : []),
    make("button", { type: "button", class: "tool", text: "Reset all", onclick: () => { Object.assign(state, defaultState()); renderSide(); renderTools(); update(); } }));
  if (focus >= 0) side.querySelectorAll("input, select, button")[focus]?.focus();
}

// ---- delay and throughput

const overview = make("div");
const overviewTools = make("div", { class: "tools" });

function renderTools() {
  overviewTools.replaceChildren(
    choice("Delay", "measure", Object.entries(MEASURES), renderOverview),
    segmented("Up", "rate", knownRates.map((name) => [name, RATES[name].title]), renderOverview),
    toggle("log delay", "delayLog", renderOverview, "Equal distances are equal ratios, in the left plot"),
    toggle("from 0", "fromZero", renderOverview, "Axes of the left plot that are not logarithmic begin at zero"),
    make("span", { class: "spacer" }),
    CDF_SOURCES.length > 1 ? choice("Distribution of the", "cdfOf", CDF_SOURCES, renderOverview) : make("span", { class: "of", text: "Distribution" }),
    toggle("log delay", "cdfLog", renderOverview, "Equal distances are equal ratios, in the right plot"),
    toggle("tail to 99.99\u202f%", "tail", renderOverview, "Percentages up to 99.99, each nine as wide as the one before"));
  renderByTools();
  stageTools.replaceChildren(toggle("each bar in full", "stageShare", renderStages, "Every bar has the same length; otherwise lengths are delays"));
  seriesTools.replaceChildren(
    toggle("overlay", "overlay", renderSeries, "All selected cases in one plot"),
    toggle("same delay scale", "sameDelay", renderSeries, "The delay axes of all cases end at the same delay"),
    toggle("log delay", "seriesLog", renderSeries));
}

function renderOverview() {
  remember();
  clearFrames(overview);
  hideHint();
  const points = selectedPoints();
  const parts = [keyLine(points)];
  const rate = shownRate(points);
  for (const box of overviewTools.querySelectorAll("input[name=rate]")) box.checked = box.value === rate;
  if (!points.length) parts.push(nothing());
  else for (const panel of panels(points)) parts.push(panelRow(panel, rate));
  overview.append(...parts.filter(Boolean));
}

const nothing = () => nothingIn("Nothing is selected: tick at least one label of every axis.");

/** All points; or those of each label of an axis, after all of them where folders are laid side by side. */
function panels(points) {
  if (state.panels < 0) return [{ title: null, points }];
  const labels = [...new Set(points.map((point) => point.entry.at[state.panels]))].sort((a, b) => a - b);
  const each = labels.map((label) => ({ title: axes[state.panels].labels[label], points: points.filter((point) => point.entry.at[state.panels] === label) }));
  return state.panels === FOLDER && each.length > 1 ? [{ title: "All folders", points }, ...each] : each;
}

function panelRow({ title, points }, rate) {
  const height = title === null ? 400 : 320;
  return make("div", { class: "panel" }, title === null ? null : make("h3", { text: title }),
    make("div", { class: "pair" }, planeFrame(points, title || "", height, rate).element, cdfFrame(points, title || "", height).element));
}

// ---- table

const tablePlace = make("div");
let everyRow = false;

function renderTable() {
  remember();
  const points = selectedPoints();
  const onSort = (key) => {
    state.descending = state.sort === key ? !state.descending : false;
    state.sort = key;
    renderTable();
    tablePlace.querySelector('th:not([aria-sort="none"]) button')?.focus();
  };
  const scrolled = tablePlace.querySelector(".scroll")?.scrollLeft || 0;
  tablePlace.replaceChildren(...caseTable(points, onSort, everyRow, () => { everyRow = true; renderTable(); }));
  tablePlace.querySelector(".scroll").scrollLeft = scrolled;
}

function tableTools() {
  const find = make("input", { type: "search", placeholder: "Find cases", "aria-label": "Find cases", value: state.find, oninput: () => { state.find = find.value; renderTable(); } });
  return make("div", { class: "tools" }, find, make("span", { class: "spacer" }),
    make("button", { type: "button", class: "tool", text: "CSV", title: "Save the table as CSV", onclick: () => saveTable(selectedPoints()) }));
}

// ---- delay by stage

const stagesPlace = make("div");

function renderStages() {
  remember();
  stagesPlace.replaceChildren(...stageTable(selectedPoints()));
}

const stageTools = make("div", { class: "tools" });

// ---- slices

const slicesPlace = make("div");

// ---- time series

const seriesPlace = make("div");
const seriesTools = make("div", { class: "tools" });

function renderSeries() {
  remember();
  clearFrames(seriesPlace);
  const points = selectedPoints();
  if (!points.length) return seriesPlace.append(nothing());
  const cards = state.overlay ? overlayLines(points) : seriesCases(points);
  if (!cards.some((card) => card.item.series)) return seriesPlace.append(noSeries());
  const grid = make("div", { class: state.overlay ? "cards one" : "cards" });
  grid.append(...(state.overlay ? [overlayCard(cards)] : cards.map(seriesCard)));
  seriesPlace.append(grid);
}

// ---- expectations

function expectations() {
  const rows = data.folders.flatMap((folder) => folder.expects.map((expect) => [folder, expect]));
  if (!rows.length) return null;
  const several = data.folders.length > 1;
  const head = ["Verdict", ...(several ? ["Folder"] : []), "Expected", "Here", "Accepted", ...(rows.some(([, expect]) => expect.paper !== null) ? ["Paper"] : []), "Measure"];
  const withPaper = head.includes("Paper");
  const row = ([folder, expect]) => make("tr", {},
    make("td", {}, make("span", { class: `pill ${expect.verdict === "match" ? "good" : expect.verdict === "miss" ? "bad" : "so-so"}`, text: `${expect.verdict === "match" ? "✓ " : expect.verdict === "miss" ? "✗ " : ""}${expect.verdict}` })),
    several ? make("td", { text: folder.name }) : null,
    make("td", { class: "claim", text: expect.claim }),
    make("td", { class: "figure", text: `${number(expect.value)} ${expect.unit}` }),
    make("td", { class: "figure", text: accepted(expect) }),
    withPaper ? make("td", { class: "figure", text: number(expect.paper) }) : null,
    make("td", {}, make("code", { text: expect.measure })));
  return section("expectations", "Expectations", make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Expectations" },
    make("table", { class: "plain" }, make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col", text, class: ["Here", "Accepted", "Paper"].includes(text) ? "figure" : null })))), make("tbody", {}, ...rows.map(row)))));
}

function accepted({ low, high }) {
  if (low === null) return `≤ ${number(high)}`;
  if (high === null) return `≥ ${number(low)}`;
  return `${number(low)} to ${number(high)}`;
}

// ---- what was run

function whatWasRun() {
  return section("run", "What was run", ...data.folders.map(folderRun));
}

function folderRun(folder) {
  const several = data.folders.length > 1;
  const axesRows = folder.axes.map((axis) => [axis.name, axis.labels.join(", ")]);
  const facts = [["Scenario", folder.scenario], ["Cases", whole(folder.cases)], ["qdelay", folder.versions.join(", ")]];
  return make("div", { class: "run" }, several ? make("h3", { text: folder.title ? `${folder.name}: ${folder.title}` : folder.name }) : null,
    make("div", { class: "facts-grid" },
      block("Study", facts), axesRows.length ? block("Axes", axesRows) : null, changesBlock(folder.changes || []), tracesBlock(folder.traces), ...settingBlocks(folder.settings)));
}

function block(title, rows) {
  return make("div", { class: "block" }, make("h4", { text: title }), make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", { text: name }), make("dd", { text: value })])));
}

/** Changes of a link while it ran. */
function changesBlock(changes) {
  const rows = changes.map(([time, what]) => [`${number(time)} s`, what]);
  return rows.length ? block("Changes while it ran", rows) : null;
}

function tracesBlock(traces) {
  const rows = Object.entries(traces).map(([name, trace]) => [name, `${trace.digest}${trace.substitute_for ? `, stands in for ${trace.substitute_for}` : ""}`]);
  return rows.length ? block("Traces (FNV-1a digest)", rows) : null;
}

/** Settings common to all cases: the path, each entry of flows, the run. */
function settingBlocks(settings) {
  const blocks = new Map();
  for (const [key, value] of Object.entries(settings)) {
    const parts = key.split(".");
    const name = parts.pop();
    const title = parts.join(" ") || "other";
    if (!blocks.has(title)) blocks.set(title, []);
    if (name !== "name") blocks.get(title).push([name, value]);
  }
  return [...blocks].filter(([, rows]) => rows.length).map(([title, rows]) => block(`${title}, in every case`, rows));
}

// ---- all of it

const count = make("span", { class: "count", role: "status" });

function update() {
  const selected = new Set(entries.filter(isSelected).map((entry) => entry.index)).size;
  count.textContent = selected === data.cases.length ? `all ${plural(selected, "case")}` : `${whole(selected)} of ${plural(data.cases.length, "case")}`;
  renderOverview();
  if (viewerFlows.length) renderViewers();
  renderTable();
  if (knownStages.length) renderStages();
  if (differences.length) differencesPlace.replaceChildren(...differenceTable());
  if (sliceNames.length) slicesPlace.replaceChildren(sliceTable(selectedPoints()));
  if (BY_KINDS.length) renderBy();
  renderParts(selectedPoints());
  renderSeries();
}

function build() {
  const expects = expectations();
  const links = [["overview", "Delay and throughput"], ...(viewerFlows.length ? [["viewers", viewersTitle()]] : []), ["cases", "Cases"], ...(differences.length ? [["differences", "Differences"]] : []), ...(knownStages.length ? [["stages", "Delay by stage"]] : []), ...(BY_KINDS.length ? [["by", "Who got what"]] : []), ...(sliceNames.length ? [["slices", "Slices"]] : []), ...knownParts.map(({ id, title }) => [id, title]), ...(expects ? [["expectations", "Expectations"]] : []), ["time", "Over time"], ["run", "What was run"]];
  side = make("div", { class: "side-body" });
  const wide = matchMedia("(min-width: 1080px)");
  const fold = make("details", { class: "side", open: wide.matches }, make("summary", {}, "Select ", count), side);
  document.getElementById("report").append(
    make("nav", { class: "bar", "aria-label": "Sections" }, make("span", { class: "brand", text: "qdelay" }), ...links.map(([id, text]) => make("a", { href: `#${id}`, text }))),
    make("div", { class: axes.some((_, axis) => varies(axis)) ? "layout" : "layout single" }, fold, make("main", {}, header(),
      section("overview", "Delay and throughput", overviewTools, overview),
      viewerFlows.length ? section("viewers", viewersTitle(), viewersTools, make("p", { class: "tip", text: `${SEED >= 0 && varies(SEED) ? "One run on each side, of the seed that is chosen, and no mean over seeds: qdelay report DIR --table prints those, with their intervals. " : ""}Two cases on the same scales and the same time. Drag to zoom, double click to see everything; all plots follow. The grey area is what the link offered.` }), viewersPlace) : null,
      section("cases", "Cases", tableTools(), tablePlace),
      differences.length ? section("differences", "Differences", differencesPlace) : null,
      knownStages.length ? section("stages", "Delay by stage", stageTools, stagesPlace) : null,
      BY_KINDS.length ? section("by", "Who got what", byTools, byPlace) : null,
      sliceNames.length ? section("slices", "Slices", slicesPlace) : null,
      ...knownParts.map(({ id, title, place }) => section(id, title, place)), expects,
      section("time", "Over time", seriesTools, make("p", { class: "tip", text: "Drag to zoom, double click to see everything; all plots follow. The grey area is what the link offered." }), seriesPlace),
      whatWasRun())),
    hint);
  wide.addEventListener("change", () => { fold.open = wide.matches; });
  renderTools();
  renderSide();
  update();
}

function recolour() {
  renderSide();
  update();
}

/** For print: light, as wide as paper, and every plot in its place. Browsers print what has been drawn when this returns. */
function print(begins) {
  if (printing === begins) return;
  printing = begins;
  document.documentElement.classList.toggle("printing", begins);
  // In the dark marks beside the plots change their colours too.
  if (darkQuery.matches) update();
  else redrawAll();
  frames.forEach((frame) => (begins || nearView(frame.body) ? show(frame) : release(frame)));
}

function nearView(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > -300 && top < innerHeight + 300;
}

takeAddress();
build();
isRemembering = true;
showSection();
// A link to a section, or an address that was pasted: the first keeps the view.
addEventListener("hashchange", () => {
  const { pairs } = addressParts();
  if (!pairs.length) return remember();
  takeAddress();
  renderTools();
  renderSide();
  update();
  showSection();
});
// Paper is light, which some browsers tell as a change.
darkQuery.addEventListener("change", () => { if (!printing) recolour(); });
addEventListener("beforeprint", () => print(true));
addEventListener("afterprint", () => print(false));
addEventListener("scroll", hideHint, { passive: true });

// For those who want to ask the page something; nothing of it can be changed from here.
Object.defineProperty(window, "qdelayReport", {
  value: Object.freeze({
    version: 1,
    cases: () => data.cases.map((item) => item.id),
    points: () => selectedPoints().map((point) => point.label),
    frames: () => frames.map((frame) => ({ kind: frame.spec.kind, name: frame.spec.name, live: live.has(frame) })),
    plots: () => [...live].map(([frame, plot]) => ({
      kind: frame.spec.kind, name: frame.spec.name, series: frame.spec.marks ?? plot.series.length - 1,
      x: [plot.scales.x.min, plot.scales.x.max], cursor: plot.cursor.idx ?? null, canvas: plot.ctx.canvas,
      axes: plot.axes.map(({ label }) => (typeof label === "function" ? label(plot) : label ?? null)),
    })),
    figures: () => selectedPoints().map((point) => ({ label: point.label, runs: point.runs.length, throughput: figure(point, "throughput") })),
    address: () => addressPairs(),
    timeRange: () => timeRange && [...timeRange],
    picture: (name) => {
      const found = [...live].find(([frame]) => frame.spec.name === name);
      return found ? pictureOf(...found).toDataURL() : null;
    },
  }),
});
