// Figures of a run: quality of applications, the table, the rates of flows.

import { make, number } from "./chart.js";
import { byId, milliseconds, setText } from "./make.js";

export const NAMES = ["A", "B"];

/** Grade of a figure, 0 to 4, by bounds from good to bad. */
const grade = (value, bounds) => (value === null ? 4 : bounds.filter((bound) => value > bound).length);
const WORDS = ["very good", "good", "fair", "poor", "unusable"];

/** Judgement of a user: a value, a remark, and a grade with the bounds that make it. */
const FEELINGS = {
  ping: ({ p50_ms: middle, p95_ms: p95, lost_percent: lost }) => ({
    value: middle === null ? "no answer" : milliseconds(p95), remark: `95% are within this, half within ${milliseconds(middle)}${lost >= 0.5 ? `; ${number(lost)}% lost` : ""}`,
    grade: grade(p95, [60, 120, 250, 1000]),
  }),
  call: ({ mos, mouth_to_ear_ms: delay, lost_percent: lost }) => ({
    value: `MOS ${mos.toFixed(1)}`, remark: `4.5 at most; ${milliseconds(delay)} mouth to ear${lost >= 0.1 ? `, ${number(lost)}% not heard` : ""}`,
    grade: grade(-mos, [-4.2, -3.8, -3.1, -2.2]),
  }),
  page: ({ loads, last_s: last, mean_s: mean }) => ({
    value: last === null ? "loading…" : `${number(mean)} s`, remark: loads ? `on average of ${loads} ${loads === 1 ? "load" : "loads"}; the last ${number(last)} s` : "no load complete yet",
    grade: grade(mean, [1, 2.5, 4, 10]),
  }),
  game: ({ in_time_percent: inTime, mean_ms: mean }) => ({
    value: `${number(inTime)}%`, remark: `within 50 ms; ${milliseconds(mean)} on average`,
    grade: grade(-inTime, [-99, -95, -85, -50]),
  }),
};
const TITLES = { ping: "A ping", call: "A call", page: "Loading a web page", game: "A game's updates in time" };

/** Cards with the quality of each application, a row for each side. */
export function showFeelings(sides) {
  const place = byId("feelings");
  const kinds = ["ping", "call", "page", "game"].filter((kind) => sides.some((side) => side.feelings.some(([, feeling]) => feeling.kind === kind)));
  byId("feel").hidden = kinds.length === 0;
  const shape = `${kinds.join()}/${sides.length}`;
  if (place.dataset.shape !== shape) {
    place.dataset.shape = shape;
    place.replaceChildren(...kinds.map((kind) => make("div", { class: "felt" }, make("h3", { text: TITLES[kind] }), ...sides.map((_, at) =>
      make("p", { class: `felt-side side-${at}`, "data-of": `${kind}${at}` }, make("span", { class: "tag", text: NAMES[at] }), make("b"), make("span", { class: "meter", "aria-hidden": "true" }), make("span", { class: "remark" }, make("span"), make("span", { class: "grade" })))))));
  }
  sides.forEach((side, at) => {
    for (const kind of kinds) {
      const element = place.querySelector(`[data-of="${kind}${at}"]`);
      const found = side.feelings.map(([, feeling]) => feeling).find((feeling) => feeling.kind === kind);
      const { value, remark, grade: level } = found ? FEELINGS[kind](found) : { value: "–", remark: "nothing yet", grade: null };
      setText(element.querySelector("b"), value);
      const [detail, word] = element.querySelector(".remark").children;
      setText(detail, level === null ? remark : `${remark}: `);
      setText(word, level === null ? "" : WORDS[level]);
      element.dataset.grade = level ?? "";
    }
  });
}

const sum = (counts) => Object.values(counts).reduce((total, count) => total + count, 0);

const ROWS = [
  ["Throughput", "Mbit/s", (side) => number(side.throughput_mbps)],
  ["Share of the link's capacity", "%", (side) => (side.capacity_mbps > 0 ? number((100 * side.throughput_mbps) / side.capacity_mbps) : "–")],
  ["Queue delay, mean", "ms", (side) => number(side.delay.count ? side.delay.mean : null)],
  ["Queue delay, 95th percentile", "ms", (side) => number(side.delay.count ? side.delay.p95 : null)],
  ["Queue delay, 99th percentile", "ms", (side) => number(side.delay.count ? side.delay.p99 : null)],
  ["Queue delay, largest", "ms", (side) => number(side.delay.count ? side.delay.max : null)],
  ["Packets in the queue", "", (side) => number(side.backlog_packets)],
  ["Dropped", "", (side) => {
    const reasons = Object.entries(side.drops).map(([reason, count]) => `${reason} ${number(count)}`);
    return `${number(sum(side.drops))}${reasons.length ? ` (${reasons.join(", ")})` : ""}`;
  }],
  ["Marked", "", (side) => number(side.marked)],
  ["Fairness of the transfers (Jain)", "", (side) => (side.fairness === null ? "–" : side.fairness.toFixed(3))],
];

/** Table of figures. */
export function showTable(sides, titles) {
  const table = byId("figures");
  const shape = `${sides.length}/${titles.join("\n")}`;
  if (table.dataset.shape !== shape) {
    table.dataset.shape = shape;
    const head = make("tr", {}, make("th", { scope: "col", text: "Figure" }), ...titles.map((title, at) => make("th", { scope: "col", class: "figure" }, make("span", { class: `tag side-${at}`, text: NAMES[at] }), ` ${title}`)));
    const rows = ROWS.map(([name, unit]) => make("tr", {}, make("th", { scope: "row", text: unit ? `${name} (${unit})` : name }), ...titles.map(() => make("td", { class: "figure" }))));
    table.replaceChildren(make("caption", { class: "unseen", text: "Figures of both sides" }), make("thead", {}, head), make("tbody", {}, ...rows));
  }
  const cells = table.querySelectorAll("tbody tr");
  ROWS.forEach(([, , text], row) => sides.forEach((side, at) => setText(cells[row].querySelectorAll("td")[at], text(side))));
}

const FLOWS_SHOWN = 24;

/** Bars of the rates of transfers over the last second. */
export function showFlows(sides, said) {
  const flows = said[0].flows.map((flow, index) => ({ ...flow, index })).filter(({ transport }) => !/^(voip|gaming|web|udp:13440bit)/.test(transport));
  const shown = flows.slice(0, FLOWS_SHOWN);
  const place = byId("flows");
  byId("shares").hidden = shown.length === 0;
  const shape = `${sides.length}/${shown.map(({ name }) => name).join("\n")}`;
  if (place.dataset.shape !== shape) {
    place.dataset.shape = shape;
    place.replaceChildren(...shown.map(({ name, index }) => make("div", { class: "flow-row" }, make("span", { class: "flow-name", text: name }), make("div", { class: "flow-bars" }, ...sides.map((_, at) =>
      make("div", { class: `flow-bar side-${at}`, "data-of": `${at}/${index}` }, make("span", { class: "fill" }), make("span", { class: "value" })))))));
    setText(byId("flows-left"), flows.length > shown.length ? `… and ${flows.length - shown.length} more` : "");
  }
  const most = Math.max(0.01, ...sides.flatMap((side) => shown.map(({ index }) => side.flows_mbps[index])));
  sides.forEach((side, at) => {
    for (const { index } of shown) {
      const bar = place.querySelector(`[data-of="${at}/${index}"]`);
      // The value stands beside the bar, also beside the longest.
      bar.querySelector(".fill").style.width = `calc((100% - 4.8em) * ${(side.flows_mbps[index] / most).toFixed(3)})`;
      setText(bar.querySelector(".value"), number(side.flows_mbps[index]));
    }
  });
}

/** State of both sides in sentences. */
export function told(sides, titles) {
  const of = (side, at) => {
    const felt = side.feelings.map(([, feeling]) => `${TITLES[feeling.kind].toLowerCase()} ${FEELINGS[feeling.kind](feeling).value}`);
    const parts = [`${number(side.throughput_mbps)} megabits per second`, side.delay.count ? `queue delay ${milliseconds(side.delay.mean)} on average, at most ${milliseconds(side.delay.max)}` : "no packet yet", `${side.backlog_packets} packets in the queue`, ...felt];
    return `${NAMES[at]}, ${titles[at]}: ${parts.join(", ")}.`;
  };
  return `At ${sides[0].now_s.toFixed(1)} seconds. ${sides.map(of).join(" ")}`;
}
