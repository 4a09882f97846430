// Settings: a form for the state. Changes are reported to `changed(part, values)`: disciplines are exchanged during the run,
// any other change restarts the run.

import { make } from "./chart.js";
import { SHAPES, kbitOf, mbitText } from "./link.js";
import { renew } from "./make.js";
import { APPS, appsOf, flowsOf, flowsText } from "./state.js";

/** Disciplines and transports at the top of the lists. */
const FIRST_QDISCS = ["taildrop", "codel", "fq_codel", "pie", "bode"];
const FIRST_TRANSPORTS = ["cubic", "bbr", "reno"];
/** Transports without transfers: they have their own boxes, or need a text. */
const NO_TRANSFERS = ["udp", "voip", "gaming", "web", "audio"];

/** Largest number of cases of a scenario in one list. */
const LISTED_CASES = 60;

const nameOf = (text) => text.split(":")[0];
/** Arguments after the name of a component. */
const restOf = (text) => text.slice(nameOf(text).length + 1);

/** Parameters in a text, by name; the positional one under the empty name. */
export function parametersOf(component, text) {
  const given = {};
  let [depth, part] = [0, ""];
  const all = [];
  for (const letter of `${text}:`) {
    depth += letter === "[" ? 1 : letter === "]" ? -1 : 0;
    if (letter === ":" && depth === 0) {
      all.push(part);
      part = "";
    } else part += letter;
  }
  for (const each of all.slice(1)) {
    const at = each.indexOf("=");
    const name = at < 0 ? null : each.slice(0, at);
    if (name !== null && component.parameters.some((parameter) => parameter.name === name)) given[name] = each.slice(at + 1);
    else given[""] = each;
  }
  return given;
}
function textWith(component, given) {
  const positional = given[""] === undefined ? "" : `:${given[""]}`;
  const named = Object.entries(given).filter(([name, value]) => name !== "" && value !== "").map(([name, value]) => `:${name}=${value}`);
  return component.name + positional + named.join("");
}

/** Options of components: those of `first`, then the others. */
function options(components, first, chosen, leaving = []) {
  const known = components.filter(({ name }) => !leaving.includes(name) || name === chosen);
  const of = ({ name, about }) => make("option", { value: name, text: name, title: about, selected: name === chosen });
  const common = first.map((name) => known.find((component) => component.name === name)).filter(Boolean);
  const others = known.filter(({ name }) => !first.includes(name));
  return [make("optgroup", { label: "Common" }, ...common.map(of)), make("optgroup", { label: "All others" }, ...others.map(of))];
}

export class Controls {
  constructor(place, catalogue, changed) {
    Object.assign(this, { place, catalogue, changed });
  }

  /** Builds the form of a state. `axes` are those of a scenario entered as text. */
  show(state, axes) {
    // Open details stay open.
    const open = [...this.place.querySelectorAll("details[open]")].map(({ id }) => id);
    const hidden = document.createDocumentFragment();
    hidden.append(...(state.text ? this.byHand(state, axes) : this.ofForm(state)));
    for (const id of open) hidden.getElementById(id)?.setAttribute("open", "");
    renew(this.place, ...hidden.children);
  }

  /** Names of the sides, above the charts. If the settings are not beside the charts, with the most used settings. */
  showSides(place, state, axes, titles) {
    const swatch = (at) => {
      const box = make("span");
      box.innerHTML = `<svg width="26" height="8" viewBox="0 0 26 8" aria-hidden="true"><path d="M0 4H26" stroke="var(--side-${at})" stroke-width="2.4"${at ? ' stroke-dasharray="6 3"' : ""}/></svg>`;
      return box.firstChild;
    };
    const side = (at) => {
      const key = "ab"[at];
      const pick = state.text ? this.casePick(state, axes, at) : this.disciplineSelect(state, key, `pick-${key}`);
      const rest = state.text ? "" : restOf(state[key]);
      const isPlayed = at < titles.length;
      return make("li", { class: `side-${at}${isPlayed ? "" : " unplayed"}` }, make("span", { class: "tag", text: "AB"[at] }), isPlayed ? swatch(at) : null, make("span", { class: pick ? "title" : "", text: titles[at] ?? "" }),
        pick && make("span", { class: "pick" }, pick, rest && make("span", { class: "rest", text: rest, title: rest })));
    };
    const sides = state.text ? titles.map((_, at) => side(at)) : [side(0), side(1)];
    renew(place, ...sides, state.text ? null : make("li", { class: "pick" }, make("label", { class: "choice" }, "Transfers", this.transferPick(state))));
  }

  /** Selection of a case by its labels, if there are few cases. */
  casePick(state, axes, at) {
    const cases = state.cases.split(",");
    const varied = axes.filter(({ labels }) => labels.length > 1);
    const count = varied.reduce((product, { labels }) => product * labels.length, 1);
    if (varied.length === 0 || count > LISTED_CASES) return null;
    const labelsOf = (index) => varied.reduceRight(({ rest, all }, { labels }) => ({ rest: Math.floor(rest / labels.length), all: [labels[rest % labels.length], ...all] }), { rest: index, all: [] }).all.join(", ");
    const choose = (event) => this.changed("cases", { cases: cases.map((each, place) => (place === at ? event.target.value : each)).join(",") });
    return make("select", { id: `pick-case-${at}`, "aria-label": `Case of side ${"AB"[at]}`, onchange: choose }, ...Array.from({ length: count }, (_, index) => make("option", { value: String(index), text: labelsOf(index), selected: String(index) === cases[at] })));
  }

  /** Selection of one transport for all transfers. */
  transferPick(state) {
    const flows = flowsOf(state.flows);
    const names = [...new Set(flows.map(({ transport }) => transport))];
    const isOne = names.length === 1 && names[0] === nameOf(names[0]);
    const now = isOne ? [] : [make("option", { value: "", text: names.join(", ") || "none", selected: true })];
    const choose = ({ target: { value: transport } }) => transport && this.changed("start", { flows: flowsText(flows.length ? flows.map((flow) => ({ ...flow, transport })) : [{ transport, count: 1, start: "0s" }]) });
    return make("select", { id: "pick-transport", "aria-label": "Transport of all transfers", onchange: choose }, ...now, ...options(this.catalogue.transports, FIRST_TRANSPORTS, isOne ? names[0] : "", NO_TRANSFERS));
  }

  byHand(state, axes) {
    const cases = state.cases.split(",").map(Number);
    const digits = (index) => axes.reduceRight(({ rest, all }, { labels }) => ({ rest: Math.floor(rest / labels.length), all: [rest % labels.length, ...all] }), { rest: index, all: [] }).all;
    const index = (places) => axes.reduce((sum, { labels }, at) => sum * labels.length + places[at], 0);
    const varied = axes.map((axis, at) => ({ ...axis, at })).filter(({ labels }) => labels.length > 1);
    const side = (which) => {
      const places = digits(cases[which] ?? cases[0]);
      const choice = ({ name, labels, at }) => {
        const choose = (event) => {
          const all = cases.length > 1 ? [...cases] : [cases[0], cases[0]];
          all[which] = index(places.map((place, of) => (of === at ? event.target.selectedIndex : place)));
          this.changed("cases", { cases: all.join(",") });
        };
        return make("label", { class: "field wide" }, name, make("select", { id: `axis-${which}-${at}`, onchange: choose }, ...labels.map((label, place) => make("option", { text: label, value: String(place), selected: places[at] === place }))));
      };
      return make("fieldset", {}, make("legend", { class: `side-${which}` }, make("span", { class: "tag", text: "AB"[which] }), "Case"), ...varied.map(choice));
    };
    const back = make("button", { type: "button", class: "tool", text: "Back to the settings", onclick: () => this.changed("form", { text: "", lesson: "" }) });
    const says = make("p", { class: "says", text: "A scenario's text is played: choose the cases of A and B here, and change the rest in the text." });
    return [says, ...(varied.length ? [side(0), side(1)] : []), back];
  }

  ofForm(state) {
    return [this.side(state, "a", 0), this.side(state, "b", 1), this.linkField(state), this.flowFields(state), this.applications(state), this.runFields(state)];
  }

  side(state, key, at) {
    const component = this.catalogue.qdiscs.find(({ name }) => name === nameOf(state[key]));
    const select = this.disciplineSelect(state, key, `qdisc-${key}`);
    const about = component ? [make("p", { class: "says", text: `${component.about}.` }), this.parameters(component, state[key], key, (text) => this.changed("qdisc", { [key]: text }))] : [];
    return make("fieldset", {}, make("legend", { class: `side-${at}` }, make("span", { class: "tag", text: key.toUpperCase() }), "Queue discipline"), make("label", { class: "field wide" }, select), ...about);
  }

  disciplineSelect(state, key, id) {
    const choose = (event) => this.changed(key === "b" && (!state.b || !event.target.value) ? "start" : "qdisc", { [key]: event.target.value });
    const none = key === "b" ? [make("option", { value: "", text: "none", selected: !state.b })] : [];
    return make("select", { id, onchange: choose, "aria-label": `Discipline of side ${key.toUpperCase()}` }, ...none, ...options(this.catalogue.qdiscs, FIRST_QDISCS, nameOf(state[key])));
  }

  parameters(component, text, key, take) {
    const given = parametersOf(component, text);
    if (component.parameters.length === 0) return null;
    const field = ({ name, unit, default: usual, about, range }, at) => {
      const value = given[name] ?? (at === 0 ? given[""] ?? "" : "");
      const set = (event) => {
        const next = { ...given, [name]: event.target.value.trim() };
        if (at === 0) delete next[""];
        take(textWith(component, next));
      };
      const words = unit.includes("|") ? unit.split("|") : null;
      const id = `parameter-${key}-${name}`;
      const input = words
        ? make("select", { id, onchange: set, title: about }, make("option", { value: "", text: usual ? `${usual} (default)` : "default" }), ...words.filter((word) => word !== usual).map((word) => make("option", { value: word, text: word, selected: word === value })))
        : make("input", { id, type: "text", value, placeholder: usual || unit, title: `${about}${range ? `; ${range}` : ""}`, onchange: set });
      return make("label", { class: "field", title: about }, name, input);
    };
    return make("details", { class: "parameters", id: `parameters-${key}` }, make("summary", { text: "Parameters" }), make("div", {}, ...component.parameters.map(field)));
  }

  linkChoices(link) {
    const choices = [...SHAPES, ...this.catalogue.traces.map((name) => [`Trace ${name}`, name.replace(/\.down$/, "")]), ...this.catalogue.own.map((name) => [`Your trace ${name}`, name])];
    const kbit = kbitOf(link);
    const title = kbit !== null ? `Constant, ${mbitText(kbit)}` : link.startsWith("steps:") ? "As drawn" : link;
    if (!choices.some(([, text]) => text === link)) choices.unshift([title, link]);
    return choices.map(([name, text]) => make("option", { value: text, text: name, selected: text === link }));
  }

  /** Updates the link to the drawn one. */
  showLink(link) {
    const select = document.getElementById("link-choice");
    if (select && select.value !== link) select.replaceChildren(...this.linkChoices(link));
  }

  linkField(state) {
    const choose = (event) => this.changed("start", { link: event.target.value });
    const select = make("select", { id: "link-choice", "aria-label": "Link", onchange: choose }, ...this.linkChoices(state.link));
    const file = make("input", { type: "file", id: "trace-file", class: "unseen", tabindex: "-1", "aria-hidden": "true", onchange: (event) => this.changed("file", { file: event.target.files[0] }) });
    const open = make("button", { type: "button", class: "tool", id: "open-trace", text: "Open a trace…", onclick: () => file.click() });
    return make("fieldset", {}, make("legend", { text: "Link" }), make("label", { class: "field wide" }, select), make("div", {}, open, file), make("p", { class: "says", text: "Or drop a file on the page: a trace of mahimahi, or lines of seconds and Mbit/s. It stays on this machine." }));
  }

  flowFields(state) {
    const flows = flowsOf(state.flows);
    const take = (next) => this.changed("start", { flows: flowsText(next) });
    const line = (flow, at) => {
      const set = (values) => take(flows.map((other, place) => (place === at ? { ...other, ...values } : other)));
      const count = make("input", { type: "number", id: `flow-count-${at}`, min: "1", max: "500", value: String(flow.count), "aria-label": "Number of flows", onchange: (event) => set({ count: Math.min(500, Math.max(1, Math.round(Number(event.target.value)) || 1)) }) });
      const transport = make("select", { id: `flow-transport-${at}`, "aria-label": "Transport", onchange: (event) => set({ transport: event.target.value }) }, ...options(this.catalogue.transports, FIRST_TRANSPORTS, nameOf(flow.transport), NO_TRANSFERS));
      const start = make("input", { type: "text", id: `flow-start-${at}`, value: flow.start, "aria-label": "Start", title: "Start time, such as 5s", onchange: (event) => set({ start: event.target.value.trim() || "0s" }) });
      const drop = make("button", { type: "button", class: "icon", "aria-label": `Remove ${flow.transport}`, text: "✕", onclick: () => take(flows.filter((_, place) => place !== at)) });
      const component = this.catalogue.transports.find(({ name }) => name === nameOf(flow.transport));
      const parameters = component ? this.parameters(component, flow.transport, `flow-${at}`, (text) => set({ transport: text })) : null;
      return make("div", {}, make("div", { class: "flow-line" }, count, transport, start, drop), parameters);
    };
    const add = make("button", { type: "button", class: "tool", id: "add-flow", text: "Add a transfer", onclick: () => take([...flows, { transport: "cubic", count: 1, start: "0s" }]) });
    return make("fieldset", {}, make("legend", { text: "Transfers" }), flows.length ? make("p", { class: "says", text: "Number, transport, start" }) : null, ...flows.map(line), make("div", {}, add));
  }

  applications(state) {
    const chosen = appsOf(state.apps);
    const box = ([name, { title }]) => make("label", { class: "toggle" }, make("input", { type: "checkbox", id: `app-${name}`, checked: chosen.includes(name), onchange: (event) => this.changed("start", { apps: Object.keys(APPS).filter((other) => (other === name ? event.target.checked : chosen.includes(other))).join(",") }) }), title);
    return make("fieldset", {}, make("legend", { text: "Applications beside them" }), make("div", { class: "applications" }, ...Object.entries(APPS).map(box)));
  }

  runFields(state) {
    const field = (key, title, hint) => make("label", { class: "field" }, title, make("input", { type: "text", id: `run-${key}`, value: state[key], title: hint, onchange: (event) => this.changed("start", { [key]: event.target.value.trim() }) }));
    return make("fieldset", {}, make("legend", { text: "Path and run" }), field("rtt", "Round trip", "Without queues, such as 40ms"), field("limit", "Buffer (packets)", "For disciplines without a limit of their own"), field("duration", "Duration", "Such as 120s"), field("seed", "Seed", "Of all random draws: equal seeds, equal figures"));
  }
}
