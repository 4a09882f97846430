// Simulator: the WebAssembly module embedded in the page, and its calls.

import { through } from "./state.js";

/** Columns that each bin has, in the order of `Column` in `watch.rs`; then four for each group of flows. */
export const COLUMNS = { capacity: 0, rate: 1, backlog: 2, dropped: 3, marked: 4, longest: 5, packets: 6 };
export const OF_GROUP = 7;
export const PER_GROUP = 4;

/** Reason why a browser cannot run this page, as a sentence; null if it can. */
export function lack() {
  const old = "The simulator runs in the browser itself, and this one";
  const advice = "Any Chrome or Edge from version 113, Firefox from 113 or Safari from 16.4 can; so can the command: qdelay run scenario.toml.";
  if (typeof WebAssembly !== "object") return `${old} has no WebAssembly, or it is switched off. ${advice}`;
  if (typeof DecompressionStream !== "function") return `${old} cannot unpack it (DecompressionStream is missing). ${advice}`;
  return null;
}

/** Starts the engine from the gzipped module in `text`, base64. */
export async function engineOf(text) {
  const letters = atob(text.trim());
  const packed = new Uint8Array(letters.length);
  // A callback for each character of a megabyte would be noticeably slow.
  for (let at = 0; at < letters.length; at += 1) packed[at] = letters.charCodeAt(at);
  const { instance } = await WebAssembly.instantiate(await through(packed, new DecompressionStream("gzip")));
  return new Engine(instance.exports);
}

export class Engine {
  constructor(code) {
    this.code = code;
    code.begin();
  }

  /** Calls the module. After a panic the module cannot be used any more, and each call throws its message. */
  guarded(work) {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      const message = this.read(this.code.fault(), this.code.fault_bytes());
      throw new Error(`The simulator has stopped: a fault of the program${message ? ` (${message.replace(/\s+/g, " ")})` : ""}. Reload the page to go on; the address of this page, in a report, leads to the fault again.`);
    }
  }

  read(at, bytes) {
    // The memory may grow in a call, which invalidates earlier views.
    return new TextDecoder().decode(new Uint8Array(this.code.memory.buffer, at, bytes).slice());
  }

  /** Sends a request, optionally followed by the contents of a file, and returns the answer. Throws an error as a sentence. */
  call(request, contents = null) {
    return this.guarded(() => {
      const head = new TextEncoder().encode(JSON.stringify(request));
      const length = head.length + (contents ? 1 + contents.length : 0);
      const room = this.code.room(length);
      const memory = new Uint8Array(this.code.memory.buffer, room, length);
      memory.set(head);
      if (contents) {
        memory[head.length] = 0;
        memory.set(contents, head.length + 1);
      }
      const bytes = this.code.call();
      const answer = JSON.parse(this.read(this.code.answer(), bytes));
      if (typeof answer.error === "string") throw new Error(answer.error);
      return answer;
    });
  }

  /** Advances the session to `ms` of simulated time. */
  advance(ms) {
    this.guarded(() => {
      const bytes = this.code.advance(ms * 1e6);
      if (bytes > 0) throw new Error(this.read(this.code.answer(), bytes));
    });
  }

  /** Number of bins of time of a side. */
  bins(side) {
    return this.code.bins(side);
  }

  /** Column of a side, one value for each bin, in the module's memory: valid until the next call. */
  column(side, column) {
    const [at, bins] = [this.code.column(side, column), this.code.bins(side)];
    return at === 0 ? new Float32Array(0) : new Float32Array(this.code.memory.buffer, at, bins);
  }
}
