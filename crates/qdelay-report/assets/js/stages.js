"use strict";
// Delay by stage of a cell: a bar for each selected point, a part of it for each stage.

const STAGES = [
  ["n3", "N3", "The link in front of the node, and its queue"],
  ["upf", "UPF", "The queue of the user plane function"],
  ["sdap", "SDAP", "The queue of the QoS flow, above the pacer"],
  ["rlc", "RLC", "The queue of the bearer, until the first byte is taken"],
  ["air", "Air", "From the first byte taken until a part of the packet is received"],
  ["reassembly", "Reassembly", "From then until the packet is whole and handed up"],
  ["up-request", "Request, up", "Upwards: until the UE sent a scheduling request"],
  ["up-grant", "Grant, up", "From then until it sent its first block"],
  ["up-queue", "Queue, up", "The rest of the time in the queue of the UE"],
  ["up-air", "Air, up", "From the first byte sent until a part of the packet is received"],
  ["up-reassembly", "Reassembly, up", "From then until the base station hands the packet up"],
];

/** The stages that any point of the page has, in the order of the way. */
const knownStages = STAGES.filter(([name]) => FIGURE_AT.has(`stages.${name}.mean`));
const stageColour = (name) => colourOf(STAGES.findIndex(([known]) => known === name));
const stageMean = (point, name) => figure(point, `stages.${name}.mean`);

const STAGE_COLUMNS = [
  { title: "In TTI", unit: "%", path: "within_tti", factor: 100, help: "Packets whose last byte was taken at most a TTI after they came to the node" },
  { title: "R", unit: "", path: "r", help: "Rating of calls by the E-model, 0 to 93" },
];

function stageTable(points) {
  const rows = points.filter((point) => knownStages.some(([name]) => stageMean(point, name)))
    .map((point) => ({ point, means: knownStages.map(([name]) => stageMean(point, name)?.mean ?? 0) }))
    .map((row) => ({ ...row, total: row.means.reduce((sum, ms) => sum + ms, 0) }));
  if (!rows.length) return [nothingIn("Nothing is selected that went through a cell.")];
  const columns = STAGE_COLUMNS.filter((column) => rows.some(({ point }) => cell(point, column)));
  const largest = Math.max(...rows.map(({ total }) => total));
  const key = make("ul", { class: "key", "aria-label": "Key" },
    ...knownStages.map(([name, title, help]) => make("li", { title: help }, swatch(stageColour(name), "square"), title)));
  const stages = knownStages.map(([, title, help]) => ({ title, help }));
  const heads = [headCell({}), headCell({ title: "Mean delay" }), ...figureHeads([{ title: "Sum", unit: "ms" }, ...stages, ...columns])];
  return [key, plainTable("Delay by stage", "stages", heads, rows, (row) => stageRow(row, columns, state.stageShare ? row.total : largest))];
}

function stageRow({ point, means, total }, columns, full) {
  const part = ([name, title], at) => make("span", {
    class: "stage", title: `${title}: ${number(means[at])} ms`, style: `width:${full > 0 ? ((100 * means[at]) / full).toFixed(2) : 0}%;background:${stageColour(name)}` });
  return pointRow(point, { "data-stages": point.key }, pointCell(point, point.label), make("td", { class: "stage-bar" }, make("div", {}, ...knownStages.map(part))),
    ...[total, ...means, ...columns.map((column) => cell(point, column)?.mean)].map((value) => figureCell(number(value))));
}
