// State of the page, and its two forms outside: the address, and the scenario that `qdelay run` reads.

import { kbitOf } from "./link.js";

/** Values of the form; texts as the scenario writes them. */
export const DEFAULTS = {
  lesson: "",
  a: "taildrop",
  b: "codel",
  link: "20mbit",
  flows: "cubic",
  apps: "ping,call,page,game",
  rtt: "40ms",
  limit: "1000",
  duration: "120s",
  seed: "1",
  speed: "1",
  /** Layout of the page: one of `VIEWS`. */
  view: "",
  /** Scenario entered as text, in place of all above. */
  text: "",
  /** Indices of the played cases of the text. */
  cases: "0",
};

/** Applications beside the transfers: name in the scenario, transport, title. */
export const APPS = {
  ping: { transport: "udp:13440bit:size=84b:echo=on", title: "Ping" },
  call: { transport: "voip", title: "Call" },
  page: { transport: "web", title: "Web page" },
  game: { transport: "gaming:20ms", title: "Game" },
};
const FLOWS_MAX = 500;
/** Simulated seconds per second. */
export const SPEEDS = ["0.1", "0.25", "0.5", "1", "2", "5", "10", "100"];
/** The usual page, and one for a projector. */
export const VIEWS = ["", "lecture"];

const parts = (text) => text.split(",").map((part) => part.trim()).filter(Boolean);

/** Transfers of `cubic*3,bbr@5s`: transport, count, start. Commas in brackets are kept. */
export function flowsOf(text) {
  const entries = [];
  let [depth, entry] = [0, ""];
  for (const letter of text) {
    depth += letter === "[" ? 1 : letter === "]" ? -1 : 0;
    if (letter === "," && depth === 0) {
      entries.push(entry);
      entry = "";
    } else entry += letter;
  }
  entries.push(entry);
  return entries.map((each) => each.trim()).filter(Boolean).map((each) => {
    const [, transport, count, start] = /^(.*?)(?:\*(\d+))?(?:@([\d.]+[a-z]+))?$/.exec(each);
    return { transport, count: Math.min(FLOWS_MAX, Math.max(1, Number(count || 1))), start: start || "0s" };
  });
}
export const flowsText = (flows) =>
  flows.map(({ transport, count, start }) => `${transport}${count > 1 ? `*${count}` : ""}${start !== "0s" ? `@${start}` : ""}`).join(",");
export const appsOf = (text) => parts(text).filter((name) => Object.hasOwn(APPS, name));

/** The cases to play: one or two. */
export const casesOf = (text) => parts(text).slice(0, 2).map(Number).filter((index) => Number.isSafeInteger(index) && index >= 0);

/** Canonical form of a state for the address; throws a sentence about an invalid part. Links, disciplines, transports and times
 * are checked by the simulator. */
export function checked(state) {
  const next = Object.fromEntries(Object.entries(state).map(([key, value]) => [key, key === "text" ? value : value.trim()]));
  const refuse = (what, value, expected) => {
    throw new Error(`${what} “${value.slice(0, 40)}”: expected ${expected}.`);
  };
  for (const [key, what, expected] of [["limit", "Buffer (limit)", "a whole number of packets"], ["seed", "Seed (seed)", "a whole number"]]) {
    if (!/^\d{1,15}$/.test(next[key])) refuse(what, next[key], expected);
    next[key] = String(Number(next[key]));
  }
  next.speed = next.speed && String(Number(next.speed));
  if (!SPEEDS.includes(next.speed)) refuse("Speed (speed)", state.speed, `one of ${SPEEDS.join(", ")}`);
  if (!VIEWS.includes(next.view)) refuse("View (view)", next.view, `${VIEWS.filter(Boolean).join(", ")} or nothing`);
  const unknown = parts(next.apps).find((name) => !Object.hasOwn(APPS, name));
  if (unknown !== undefined) refuse("Applications (apps)", unknown, `some of ${Object.keys(APPS).join(", ")}, with commas between them`);
  next.apps = Object.keys(APPS).filter((name) => appsOf(next.apps).includes(name)).join(",");
  for (const [, count] of next.flows.matchAll(/\*(\d+)/g)) {
    if (Number(count) < 1 || Number(count) > FLOWS_MAX) refuse("Transfers (flows)", `*${count}`, `1 to ${FLOWS_MAX} of a transport`);
  }
  next.flows = flowsText(flowsOf(next.flows));
  // Without a text each discipline is a case.
  if (!next.text) next.cases = DEFAULTS.cases;
  else if (!/^\d{1,9}(,\d{1,9})?$/.test(next.cases)) refuse("Cases (cases)", next.cases, "the number of a case, or of two with a comma between them");
  return next;
}

const quoted = (text) => JSON.stringify(text);

/** True for a link, false for the name of a trace. */
export const isLink = (text) => /^[\d.]/.test(text) ? /^[\d.]+[a-z]+($|:)/.test(text) : /^(steps|rate|line|htb|tbf|synth)(:|$)/.test(text);

/** The scenario of a state. */
export function scenarioOf(state) {
  if (state.text) return state.text;
  const lines = [
    "# Made by the playground: `qdelay run scenario.toml` runs it.",
    `title = ${quoted(state.b ? `${state.a} beside ${state.b}` : state.a)}`,
    "",
    "[path]",
    // A plain rate becomes steps, so that drawing can continue it and this file has the same run.
    `${isLink(state.link) ? "link" : "trace"} = ${quoted(kbitOf(state.link) === null ? state.link : `steps:0s@${state.link}`)}`,
    `rtt = ${quoted(state.rtt)}`,
    `limit = ${Number(state.limit) || 0}`,
  ];
  const names = new Set();
  const flow = (name, transport, more = []) => {
    let unique = name;
    for (let at = 2; names.has(unique); at += 1) unique = `${name}_${at}`;
    names.add(unique);
    lines.push("", "[[flow]]", `name = ${quoted(unique)}`, `transport = ${quoted(transport)}`, ...more);
  };
  for (const { transport, count, start } of flowsOf(state.flows)) {
    flow(transport.split(":")[0], transport, [...(count > 1 ? [`count = ${count}`] : []), ...(start !== "0s" ? [`start = ${quoted(start)}`] : [])]);
  }
  for (const name of appsOf(state.apps)) flow(name, APPS[name].transport);
  lines.push("", "[run]", `duration = ${quoted(state.duration)}`, `seeds = ${Number(state.seed) || 0}`);
  const disciplines = state.b && state.b !== state.a ? [state.a, state.b] : [state.a];
  lines.push("", "[matrix]", `path.qdisc = [${disciplines.map(quoted).join(", ")}]`, "");
  return lines.join("\n");
}

/** Cases of a state that are played. */
export function playedOf(state) {
  if (state.text) return casesOf(state.cases).length ? casesOf(state.cases) : [0];
  if (!state.b) return [0];
  return state.b === state.a ? [0, 0] : [0, 1];
}

/** Python program for the same run. */
export function pythonOf(state) {
  const text = scenarioOf(state);
  const file = text.includes("'''")
    ? "# scenario.toml: the file that the page downloads\n"
    : `from pathlib import Path\n\nPath("scenario.toml").write_text(r'''${text}''')\n`;
  return `import qdelay\n${file}\nrun = qdelay.Scenario("scenario.toml").run("results/playground")\nprint(run.cases.select("^id$|^path.qdisc$|^throughput_mbps$|^queue_delay_ms.(mean|p95)$").collect())\n`;
}

// ---- the address

const bytesText = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const textBytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));

/** `bytes` through a stream of the browser: a compression, or what undoes it. */
export async function through(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/** State as the fragment of an address, without default values. */
export async function addressOf(state) {
  const query = new URLSearchParams();
  for (const [key, usual] of Object.entries(DEFAULTS)) {
    const isOfForm = !["lesson", "text", "cases", "speed", "view"].includes(key);
    // Opened addresses play at normal speed, so a higher speed is not stored.
    const isHurried = key === "speed" && state.speed === "100";
    if (state[key] === usual || isHurried || (state.text && isOfForm) || (!state.text && key === "cases")) continue;
    if (key === "text") query.set("z", bytesText(await through(new TextEncoder().encode(state.text), new CompressionStream("deflate-raw"))));
    else query.set(key, state[key]);
  }
  return query.toString().replace(/%3A/gi, ":").replace(/%40/g, "@").replace(/%2C/gi, ",").replace(/%2F/gi, "/");
}

const TEXT_BYTES_MAX = 1_000_000;

/** Unpacks a text. Unpacking ends at the longest allowed text: a few bytes may stand for gigabytes. */
async function unpacked(bytes) {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let [text, length] = ["", 0];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    length += value.length;
    if (length > TEXT_BYTES_MAX) {
      await reader.cancel();
      throw new Error("too long");
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** State of an address; throws a sentence about an invalid one. */
export async function stateOf(address) {
  const state = { ...DEFAULTS };
  const query = new URLSearchParams(address.replace(/^#/, "").replace(/\+/g, "%2B"));
  for (const [key, value] of query) {
    if (key === "z") {
      try {
        state.text = await unpacked(textBytes(value));
      } catch {
        throw new Error("The scenario in this address is damaged: part of the address may be missing.");
      }
    } else if (key in DEFAULTS && key !== "text") state[key] = value;
    else throw new Error(`“${key.slice(0, 40)}” means nothing here; expected ${Object.keys(DEFAULTS).filter((name) => name !== "text").join(", ")} or z.`);
  }
  return checked(state);
}
