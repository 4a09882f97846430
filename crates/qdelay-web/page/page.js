// State, engine and clock of the page.

import { make } from "./chart.js";
import { Charts, secondsOf } from "./charts.js";
import { Controls } from "./controls.js";
import { readStyle } from "./draw.js";
import { COLUMNS } from "./engine.js";
import { showFeelings, showFlows, showTable, told } from "./figures.js";
import { Hand, fingers } from "./hand.js";
import { LESSONS, departure, lessonOf } from "./lessons.js";
import { observed, pointsOf, stepsText, tail, textOf } from "./link.js";
import { byId, notify, setText } from "./make.js";
import { DEFAULTS, addressOf, checked, playedOf, pythonOf, scenarioOf } from "./state.js";

const BIN_MS = 50;
/** Milliseconds of a frame for the engine; the rest is for drawing. */
const BUDGET_MS = 9;
/** Simulated time of one call. */
const SLICE_MS = 10;
const SUMMARY_EVERY_MS = 200;
const AHEAD_S = 6;

/** True if the system asks for reduced motion. */
export const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class Page {
  constructor(engine) {
    this.engine = engine;
    this.catalogue = { ...engine.call({ op: "catalogue" }), own: [] };
    this.state = { ...DEFAULTS };
    this.charts = new Charts({ link: byId("link-picture"), delay: byId("delay-picture"), queue: byId("queue-picture"), cdf: byId("cdf-picture"), plane: byId("plane-picture") });
    this.controls = new Controls(byId("fields"), this.catalogue, (part, values) => this.changed(part, values));
    this.hand = new Hand(this.charts.link, {
      points: () => this.points ?? this.seenPoints(), now: () => this.now, width: 100, take: (points) => this.steer(points),
      hold: (isHeld) => (this.charts.isHeld = isHeld),
    });
    this.lessons = LESSONS;
    this.said = [];
    this.axes = [];
    this.isPlaying = false;
    this.show();
  }

  // ---- requests

  /** Starts a state. Errors are shown, and the previous run continues. */
  begin(state, { play = this.isPlaying } = {}) {
    const before = this.state;
    try {
      this.state = checked(state);
    } catch (error) {
      this.complain(error.message);
      this.show();
      return false;
    }
    try {
      this.open();
    } catch (error) {
      this.complain(error.message);
      this.state = before;
      // Without a valid first state there is nothing to play.
      try {
        this.open();
      } catch {
        this.state = { ...DEFAULTS };
        this.open();
      }
      this.show();
      return false;
    }
    this.complain(null);
    this.play(play);
    this.show();
    return true;
  }

  open() {
    const text = scenarioOf(this.state);
    this.axes = this.engine.call({ op: "read", text }).axes;
    this.said = this.engine.call({ op: "open", text, cases: playedOf(this.state), bin_ms: BIN_MS }).sides;
    this.now = 0;
    this.slice = SLICE_MS;
    this.nextSecond = 0;
    this.seconds = this.said.map(() => []);
    this.isFinished = false;
    this.duration = 1000 * Math.max(...this.said.map((side) => side.duration_s));
    this.points = this.state.text ? null : pointsOf(this.state.link, this.duration);
    // A trace can be continued by hand; a cell, and a scenario entered as text, have no link that the page can change.
    this.isOurs = !this.state.text && !this.said[0].is_cell;
    this.ahead = this.capacityAhead();
    this.charts.forget();
    for (const id of ["final", "told"]) setText(byId(id), "");
  }

  /** Applies a change of the settings. */
  changed(part, values) {
    if (part === "file") return void this.takeFile(values.file);
    const state = { ...this.state, ...values };
    if (part !== "qdisc") return void this.begin(state);
    try {
      this.said = this.engine.call({ op: "qdiscs", text: scenarioOf(state), cases: playedOf(state) }).sides;
      this.state = state;
      this.complain(null);
    } catch (error) {
      this.complain(error.message);
    }
    this.show();
  }

  /** Changes the rate of the link, from now on or later. */
  steer(points) {
    this.points = points;
    this.state = { ...this.state, link: textOf(points) };
    // One call a frame suffices.
    this.isSteered = true;
    if (!this.isPlaying) this.wake();
  }
  applySteering() {
    this.isSteered = false;
    try {
      this.engine.call({ op: "link", rest: stepsText(tail(this.points, this.now)), whole: stepsText(this.points) });
      this.complain(null);
    } catch (error) {
      this.complain(error.message);
    }
    this.ahead = this.capacityAhead();
    this.controls.showLink(this.state.link);
    this.showDeparture();
    this.showText();
  }

  /** Rates of a trace until now; later ones are drawn. */
  seenPoints() {
    const mbps = this.engine.column(0, COLUMNS.capacity);
    const wide = Array.from({ length: Math.floor(mbps.length / 2) }, (_, at) => (mbps[2 * at] + mbps[2 * at + 1]) / 2);
    return observed(wide.slice(0, Math.floor(this.now / 100)), 100);
  }

  /** Plays a scenario entered as text. Errors are shown, and the text stays for correction. */
  apply(text) {
    this.isOfText = true;
    try {
      const { cases } = this.engine.call({ op: "read", text });
      if (!this.begin({ ...this.state, text, cases: cases > 1 ? "0,1" : "0", lesson: "" })) byId("text").value = text;
    } catch (error) {
      this.complain(error.message);
    }
    this.isOfText = false;
  }

  async takeFile(file) {
    if (!file) return;
    try {
      const name = file.name.replace(/[^\w.-]/g, "_");
      this.engine.call({ op: "trace", name }, new Uint8Array(await file.arrayBuffer()));
      if (!this.catalogue.own.includes(name)) this.catalogue.own.push(name);
      this.begin({ ...this.state, text: "", link: name, lesson: "" });
    } catch (error) {
      this.complain(`The trace cannot be used: ${error.message}`);
    }
  }

  takeLesson(id, more = {}, play = true) {
    const { speed, view } = this.state;
    this.begin({ ...this.ownState(id), speed, view, ...more }, { play });
    byId("group").value = lessonOf(id).group ?? "";
  }
  /** Initial state of a lesson. */
  ownState(id) {
    const lesson = lessonOf(id);
    const text = lesson.shipped ? this.engine.call({ op: "shipped", name: lesson.shipped }).text : lesson.state.text ?? "";
    return checked({ ...DEFAULTS, ...lesson.state, text, lesson: id });
  }

  // ---- the view

  /** Switches between the usual page and another view. */
  look(view) {
    this.state = { ...this.state, view };
    this.showView();
    this.showText();
  }
  showView() {
    const { view } = this.state;
    const root = document.documentElement;
    if (root.dataset.view === view) return;
    root.dataset.view = view;
    this.readLesson(false);
    scrollTo(0, 0);
    this.relook();
  }
  /** Redraws after a change of sizes or colours. */
  relook() {
    readStyle();
    this.summedAt = null;
    this.wake();
  }
  /** Shows the lesson's text in place of the quality of applications, in the lecture view. */
  readLesson(isRead) {
    const hadFocus = byId("lesson").contains(document.activeElement);
    byId("stage").classList.toggle("reading", isRead);
    byId("read-lesson").setAttribute("aria-expanded", String(isRead));
    if (isRead) byId("lesson").focus();
    else if (hadFocus && this.state.view) byId("read-lesson").focus();
  }
  get isReading() {
    return byId("stage").classList.contains("reading");
  }

  /** Switches before and after printing: paper shows the usual page in light colours. */
  onPaper(isPrinting) {
    const root = document.documentElement;
    root.classList.toggle("printing", isPrinting);
    root.dataset.view = isPrinting ? "" : this.state.view;
    readStyle();
    this.charts.forget();
    this.draw();
    this.sum();
  }

  // ---- the clock

  play(on) {
    this.isPlaying = on && this.now < this.duration;
    setText(byId("play"), this.isPlaying ? "Pause" : "Play");
    this.lastFrame = null;
    this.wake();
  }
  wake() {
    if (this.isAwake) return;
    this.isAwake = true;
    requestAnimationFrame((at) => this.frame(at));
  }

  /** Advances to a time within the budget; `false` if the time was not reached. */
  advance(to, budget) {
    const begun = performance.now();
    while (this.now < to) {
      const next = Math.min(to, this.now + this.slice);
      const before = performance.now();
      this.engine.advance(next);
      this.now = next;
      const now = performance.now();
      // Long slices are shortened, so that a heavy scenario does not block the page.
      this.slice = Math.min(SLICE_MS, Math.max(0.5, now - before > 4 ? this.slice / 2 : this.slice * 1.2));
      if (now - begun > budget && this.now < to) return false;
    }
    return true;
  }

  frame(at) {
    this.isAwake = false;
    try {
      this.run(at);
    } catch (error) {
      this.isPlaying = false;
      setText(byId("play"), "Play");
      this.complain(error.message);
      return;
    }
    if (this.isPlaying || this.isSteered) this.wake();
  }

  run(at) {
    if (this.isSteered) this.applySteering();
    if (this.isPlaying) {
      // A late frame does not make the time jump.
      const passed = Math.min(at - (this.lastFrame ?? at), 100);
      this.lastFrame = at;
      const speed = Number(this.state.speed);
      const to = Math.min(this.duration, this.now + passed * speed);
      const isReached = this.advance(to, BUDGET_MS);
      this.isSlow = !isReached;
      if (this.now >= this.duration) this.end();
    }
    const pause = calm.matches && this.isPlaying ? 500 : 0;
    if (!(at - (this.drawnAt ?? -1e9) < pause)) {
      this.drawnAt = at;
      this.draw();
    }
    if (!this.isPlaying || !(at - (this.summedAt ?? -1e9) < Math.max(pause, SUMMARY_EVERY_MS))) {
      this.summedAt = at;
      this.sum();
    }
  }

  end() {
    this.play(false);
    setText(byId("final"), "The run is over. “Run to the end” beside the scenario gives its figures as qdelay run writes them.");
  }

  capacityAhead() {
    const from = Math.floor(this.now / BIN_MS) * BIN_MS;
    return this.engine.call({ op: "capacity", from_ms: from, width_ms: BIN_MS, count: (AHEAD_S * 1000) / BIN_MS }).mbps;
  }

  // ---- drawing

  draw() {
    const chosen = byId("group").value;
    if (Math.floor(this.now / BIN_MS) !== this.aheadAt) {
      this.aheadAt = Math.floor(this.now / BIN_MS);
      this.ahead = this.capacityAhead();
    }
    this.charts.moving({
      engine: this.engine, sides: this.said.length, now: this.now / 1000, bin: BIN_MS / 1000, ahead: this.ahead, groups: this.said[0].groups.length,
      group: chosen === "" ? -1 : Math.max(-1, this.said[0].groups.indexOf(chosen)), isDrawable: this.isOurs, isLog: byId("log").checked,
    });
    this.hand.show(this.isOurs, this.charts.ring);
    const slow = this.isSlow && this.isPlaying ? ", as fast as this machine can" : "";
    setText(byId("clock"), `${(this.now / 1000).toFixed(1)} s of ${this.duration / 1000} s${slow}`);
  }

  sum() {
    const { sides } = this.engine.call({ op: "progress" });
    this.progress = sides;
    const groups = this.said[0].groups.length;
    const from = this.nextSecond;
    sides.forEach((_, side) => this.seconds[side].push(...secondsOf(this.engine, side, groups, BIN_MS / 1000, from)));
    this.nextSecond = Math.max(from, Math.floor((this.engine.bins(0) * BIN_MS) / 1000));
    this.charts.summed(sides, this.seconds.map((points) => points.slice(-300)));
    showFeelings(sides);
    showTable(sides, this.titles());
    showFlows(sides, this.said);
    setText(byId("since"), sides[0].since_s > 0 ? `since ${sides[0].since_s.toFixed(1)} s` : "since the start");
  }

  titles() {
    if (!this.state.text) return this.said.map(({ qdisc }) => qdisc);
    const varied = this.axes.filter(({ labels }) => labels.length > 1).map(({ name }) => name);
    return this.said.map(({ labels, id }) => varied.map((name) => labels[name]).join(", ") || id);
  }

  complain(sentence) {
    // The command searches folders for traces; the page needs a file from the user.
    const message = sentence?.replace(/expected it in a folder given by --traces or QDELAY_TRACES, or a substitute under \[fallback\]/, "give the page the file: “Open a trace…”, or drop it here") ?? null;
    notify(message);
    const area = byId("text-notice");
    area.hidden = message === null || !this.isOfText;
    setText(area, message ?? "");
    byId("text").setAttribute("aria-invalid", String(message !== null && Boolean(this.isOfText)));
  }

  /** Updates all static elements. */
  show() {
    this.controls.show(this.state, this.axes);
    this.controls.showSides(byId("key"), this.state, this.axes, this.titles());
    this.showLessons();
    this.showView();
    byId("speed").value = this.state.speed;
    const groups = this.said[0]?.groups ?? [];
    const chosen = byId("group").value;
    byId("group").replaceChildren(make("option", { value: "", text: "all packets" }), ...groups.map((name) => make("option", { value: name, text: name, selected: name === chosen })));
    const byFinger = fingers.matches ? " A finger elsewhere on the picture scrolls the page when it moves up or down." : "";
    setText(byId("link-help"), this.isOurs ? `Drag the ring up or down to change the rate from now on, or draw to the right of it what is to come.${byFinger}` : "The link of this scenario is changed in its text.");
    this.showText();
    this.wake();
  }

  showText() {
    if (document.activeElement !== byId("text")) byId("text").value = scenarioOf(this.state);
    setText(byId("python"), pythonOf(this.state));
    clearTimeout(this.addressTimer);
    this.addressTimer = setTimeout(() => this.writeAddress(), 400);
  }
  async writeAddress() {
    const address = await addressOf(this.state);
    this.ownAddress = `#${address}`;
    if (location.hash !== this.ownAddress) history.replaceState(null, "", this.ownAddress || "#");
  }

  showLessons() {
    const lesson = lessonOf(this.state.lesson);
    for (const button of byId("lessons").querySelectorAll("button")) {
      const isChosen = button.dataset.lesson === this.state.lesson;
      if (!isChosen) button.removeAttribute("aria-current");
      else if (!button.hasAttribute("aria-current")) {
        button.setAttribute("aria-current", "true");
        const list = byId("lessons");
        list.scrollLeft = button.offsetLeft - list.offsetLeft - 60;
      }
    }
    byId("lesson").hidden = !lesson;
    byId("read-lesson").hidden = !lesson;
    byId("lesson-choice").value = this.state.lesson;
    byId("stage").classList.toggle("of-shares", Boolean(lesson?.isOfShares));
    if (!lesson) this.readLesson(false);
    this.showDeparture();
    if (!lesson || byId("lesson").dataset.lesson === lesson.id) return;
    byId("lesson").dataset.lesson = lesson.id;
    setText(byId("lesson-title"), lesson.title);
    byId("lesson-text").replaceChildren(...lesson.text.map((paragraph) => make("p", { text: paragraph })));
    byId("lesson-tries").replaceChildren(...[["As the lesson begins", {}], ...lesson.tries].map(([text, values]) => make("button", { type: "button", class: "try", text, onclick: () => this.takeLesson(lesson.id, values) })));
  }

  /** Names the differences of the run from the one that the lesson's text describes. */
  showDeparture() {
    const { lesson } = this.state;
    if (this.own?.lesson !== lesson) this.own = lesson ? this.ownState(lesson) : null;
    setText(byId("lesson-departure"), this.own ? departure(this.state, this.own) : "");
  }

  tell() {
    this.sum();
    byId("told").textContent = "";
    requestAnimationFrame(() => setText(byId("told"), told(this.progress, this.titles())));
  }

  // ---- results

  /** Runs side A from the beginning to its end, and returns its figures as a file. */
  figures(side = 0) {
    const text = scenarioOf(this.state);
    const cases = playedOf(this.state);
    this.play(false);
    this.engine.call({ op: "open", text, cases: [cases[side] ?? cases[0]], bin_ms: BIN_MS });
    const summary = this.engine.call({ op: "finish", side: 0 }).text;
    this.begin(this.state, { play: false });
    return summary;
  }
}
