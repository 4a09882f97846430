"use strict";
// Paired differences between cases, as the run computed them over all its seeds.

const DIFFERENCE_TITLES = {
  throughput_mbps: ["Throughput", "Mbit/s"], "queue_delay_ms.mean": ["Mean", "ms"], "queue_delay_ms.p95": ["p95", "ms"], "queue_delay_ms.p99": ["p99", "ms"],
};

/** Every difference, with its folder. */
const differences = data.folders.flatMap((folder, index) => (folder.differences || []).map((pair) => ({ ...pair, folder, index })));
const differenceMeasures = [...new Set([...Object.keys(DIFFERENCE_TITLES), ...differences.flatMap((pair) => Object.keys(pair.measures))])]
  .filter((path) => differences.some((pair) => own(pair.measures, path)));

const differencesPlace = make("div");

/** Whether every label of a difference is selected; labels of axes that this page has not do not count. */
function isDifferenceSelected(pair) {
  const labels = { ...pair.labels, ...(FOLDER >= 0 ? { folder: pair.folder.name } : {}) };
  return axes.every((axis, at) => {
    const label = own(labels, axis.name);
    return label === null || state.selected[at].has(axis.labels.indexOf(label));
  });
}

function differenceTable() {
  const rows = differences.filter(isDifferenceSelected);
  if (!rows.length) return [nothingIn("Nothing is selected that differs from what it is compared with.")];
  const told = tellingAxes.filter((axis) => axis !== FLOWS);
  const measures = differenceMeasures.map((path) => [path, ...(DIFFERENCE_TITLES[path] || [path, ""])]);
  const row = (pair) => make("tr", {},
    ...told.map((axis) => textCell(axis === FOLDER ? pair.folder.name : own(pair.labels, axes[axis].name) ?? "")),
    make("td", { class: "text soft", text: pair.baseline }),
    figureCell(whole(pair.pairs)),
    ...measures.map(([path]) => differenceCell(own(pair.measures, path))));
  const heads = [...[...told.map(axisTitle), "Against"].map((title) => headCell({ title, kind: "text" })), ...figureHeads([{ title: "Pairs" }, ...measures.map(([, title, unit]) => ({ title, unit }))])];
  return [
    make("p", { class: "tip", text: "Each run less the run of the same seed in the column “Against”. ± is half of the 95\u202f% interval; ★ is beyond chance at 5\u202f% over the whole table (Student's t, Holm's correction). All packets count, whatever flows are selected; qdelay report DIR --table --differences NAME has those of the flows of one [[flow]]." }),
    plainTable("Differences", "", heads, rows, row)];
}

/** A probability for a title: "p 0.012", "p < 1e-6". */
function probability(value) {
  if (value === null || value === undefined) return null;
  return value < 1e-6 ? "p < 1e-6" : `p ${number(value)}`;
}

function differenceCell(difference) {
  if (!difference) return figureCell("–");
  const sign = difference.mean > 0 ? "+" : "";
  const [middle, half] = withHalf(difference.mean, difference.half_width).split(" ±");
  return make("td", { class: difference.significant ? "figure beyond" : "figure", title: probability(difference.p_value) },
    `${sign}${middle.replace("-", "−")}`, half === undefined ? null : make("span", { class: "half", text: ` ±${half}` }), make("span", { class: "star", text: difference.significant ? "★" : "" }));
}
