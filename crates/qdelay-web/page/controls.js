// The settings: a form of what a state has. What is changed is told to `changed(part, values)`: disciplines are exchanged while the run
// lasts, everything else begins again.

import { SHAPES } from "./link.js";
import { make } from "./make.js";
import { APPS, appsOf, flowsOf, flowsText } from "./state.js";

/** Disciplines and transports that are offered first. */
const FIRST_QDISCS = ["taildrop", "codel", "fq_codel", "pie", "bode"];
const FIRST_TRANSPORTS = ["cubic", "bbr", "reno"];
/** Transports that are no transfers: they have boxes of their own, or need a text. */
const NO_TRANSFERS = ["udp", "voip", "gaming", "web", "audio"];

const nameOf = (text) => text.split(":")[0];

/** The parameters that a text gives, by name; the positional one under its own. */
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
  return [make("optgroup", { label: "Usual" }, ...common.map(of)), make("optgroup", { label: "All others" }, ...others.map(of))];
}

export class Controls {
  constructor(place, catalogue, changed) {
    Object.assign(this, { place, catalogue, changed });
  }

  /** Builds the form of a state. `axes` are those of a scenario by hand. */
  show(state, axes) {
    // Who was in a field stays in it, and what was open stays open.
    const focused = document.activeElement?.id;
    const open = [...this.place.querySelectorAll("details[open]")].map(({ id }) => id);
    this.place.replaceChildren(...(state.text ? this.byHand(state, axes) : this.ofForm(state)));
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    if (focused && this.place.querySelector(`#${CSS.escape(focused)}`)) document.getElementById(focused).focus();
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
    const says = make("p", { class: "says", text: "A scenario by hand is played: choose two of its cases here, and change the rest in its text." });
    return [says, ...(varied.length ? [side(0), side(1)] : []), back];
  }

  ofForm(state) {
    return [this.side(state, "a", 0), this.side(state, "b", 1), this.linkField(state), this.flowFields(state), this.applications(state), this.runFields(state)];
  }

  side(state, key, at) {
    const { qdiscs } = this.catalogue;
    const component = qdiscs.find(({ name }) => name === nameOf(state[key]));
    const choose = (event) => this.changed(key === "b" && (!state.b || !event.target.value) ? "start" : "qdisc", { [key]: event.target.value });
    const none = key === "b" ? [make("option", { value: "", text: "none", selected: !state.b })] : [];
    const select = make("select", { id: `qdisc-${key}`, onchange: choose, "aria-label": `Discipline of side ${key.toUpperCase()}` }, ...none, ...options(qdiscs, FIRST_QDISCS, component?.name));
    const about = component ? [make("p", { class: "says", text: `${component.about}.` }), this.parameters(component, state[key], key, (text) => this.changed("qdisc", { [key]: text }))] : [];
    return make("fieldset", {}, make("legend", { class: `side-${at}` }, make("span", { class: "tag", text: key.toUpperCase() }), "Queue discipline"), make("label", { class: "field wide" }, select), ...about);
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
        ? make("select", { id, onchange: set, title: about }, make("option", { value: "", text: usual ? `${usual} (usual)` : "usual" }), ...words.filter((word) => word !== usual).map((word) => make("option", { value: word, text: word, selected: word === value })))
        : make("input", { id, type: "text", value, placeholder: usual || unit, title: `${about}${range ? `; ${range}` : ""}`, onchange: set });
      return make("label", { class: "field", title: about }, name, input);
    };
    return make("details", { class: "parameters", id: `parameters-${key}` }, make("summary", { text: "Parameters" }), make("div", {}, ...component.parameters.map(field)));
  }

  linkField(state) {
    const choices = [...SHAPES, ...this.catalogue.traces.map((name) => [`Trace ${name}`, name.replace(/\.down$/, "")]), ...this.catalogue.own.map((name) => [`Your trace ${name}`, name])];
    const known = choices.some(([, text]) => text === state.link);
    const drawn = known ? [] : [make("option", { value: state.link, text: state.link.startsWith("steps:") ? "As drawn" : state.link, selected: true })];
    const choose = (event) => this.changed("start", { link: event.target.value });
    const select = make("select", { id: "link-choice", "aria-label": "Link", onchange: choose }, ...drawn, ...choices.map(([title, text]) => make("option", { value: text, text: title, selected: text === state.link })));
    const file = make("input", { type: "file", id: "trace-file", class: "unseen", tabindex: "-1", "aria-hidden": "true", onchange: (event) => this.changed("file", { file: event.target.files[0] }) });
    const open = make("button", { type: "button", class: "tool", id: "open-trace", text: "Open a trace…", onclick: () => file.click() });
    return make("fieldset", {}, make("legend", { text: "Link" }), make("label", { class: "field wide" }, select), make("div", {}, open, file), make("p", { class: "says", text: "Or drop a file on the page: a schedule of mahimahi, or a table of rates. It stays on this machine." }));
  }

  flowFields(state) {
    const flows = flowsOf(state.flows);
    const take = (next) => this.changed("start", { flows: flowsText(next) });
    const line = (flow, at) => {
      const set = (values) => take(flows.map((other, place) => (place === at ? { ...other, ...values } : other)));
      const count = make("input", { type: "number", id: `flow-count-${at}`, min: "1", max: "500", value: String(flow.count), "aria-label": "How many", onchange: (event) => set({ count: Math.min(500, Math.max(1, Math.round(Number(event.target.value)) || 1)) }) });
      const transport = make("select", { id: `flow-transport-${at}`, "aria-label": "Transport", onchange: (event) => set({ transport: event.target.value }) }, ...options(this.catalogue.transports, FIRST_TRANSPORTS, nameOf(flow.transport), NO_TRANSFERS));
      const start = make("input", { type: "text", id: `flow-start-${at}`, value: flow.start, "aria-label": "Start", title: "When it starts, such as 5s", onchange: (event) => set({ start: event.target.value.trim() || "0s" }) });
      const drop = make("button", { type: "button", class: "icon", "aria-label": `Remove ${flow.transport}`, text: "✕", onclick: () => take(flows.filter((_, place) => place !== at)) });
      const component = this.catalogue.transports.find(({ name }) => name === nameOf(flow.transport));
      const parameters = component ? this.parameters(component, flow.transport, `flow-${at}`, (text) => set({ transport: text })) : null;
      return make("div", {}, make("div", { class: "flow-line" }, count, transport, start, drop), parameters);
    };
    const add = make("button", { type: "button", class: "tool", id: "add-flow", text: "Add a transfer", onclick: () => take([...flows, { transport: "cubic", count: 1, start: "0s" }]) });
    return make("fieldset", {}, make("legend", { text: "Transfers" }), flows.length ? make("p", { class: "says", text: "How many, transport, start" }) : null, ...flows.map(line), make("div", {}, add));
  }

  applications(state) {
    const chosen = appsOf(state.apps);
    const box = ([name, { title }]) => make("label", { class: "toggle" }, make("input", { type: "checkbox", id: `app-${name}`, checked: chosen.includes(name), onchange: (event) => this.changed("start", { apps: Object.keys(APPS).filter((other) => (other === name ? event.target.checked : chosen.includes(other))).join(",") }) }), title);
    return make("fieldset", {}, make("legend", { text: "Beside them" }), make("div", { class: "applications" }, ...Object.entries(APPS).map(box)));
  }

  runFields(state) {
    const field = (key, title, hint) => make("label", { class: "field" }, title, make("input", { type: "text", id: `run-${key}`, value: state[key], title: hint, onchange: (event) => this.changed("start", { [key]: event.target.value.trim() }) }));
    return make("fieldset", {}, make("legend", { text: "Path and run" }), field("rtt", "Round trip", "Without queues, such as 40ms"), field("limit", "Buffer (packets)", "For disciplines without a limit of their own"), field("duration", "Duration", "Such as 120s"), field("seed", "Seed", "Of all random draws: equal seeds, equal figures"));
  }
}
