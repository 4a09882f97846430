// Start of the page: actions of buttons, keys and files, and the state in the address.

import { make } from "./chart.js";
import { readStyle } from "./draw.js";
import { engineOf, lack } from "./engine.js";
import { LESSONS, lessonOf } from "./lessons.js";
import { byId, notify, setText } from "./make.js";
import { Page, calm } from "./page.js";
import { DEFAULTS, SPEEDS, pythonOf, scenarioOf, stateOf } from "./state.js";

function save(name, text, type) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function copy(button, text) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copy it from the address line";
  }
  setTimeout(() => (button.textContent = before), 1500);
}

function wire(page) {
  byId("lessons").replaceChildren(...LESSONS.map(({ id, title }) => make("li", {}, make("button", { type: "button", "data-lesson": id, text: title, onclick: () => page.takeLesson(id) }))));
  byId("speed").replaceChildren(...SPEEDS.map((speed) => make("option", { value: speed, text: speed === "100" ? "as fast as possible" : `${speed} ×` })));
  byId("speed").addEventListener("change", (event) => {
    page.state = { ...page.state, speed: event.target.value };
    page.complain(null);
    page.showText();
  });
  byId("lesson-choice").replaceChildren(make("option", { value: "", text: "Choose a lesson…", disabled: true }), ...LESSONS.map(({ id, title }) => make("option", { value: id, text: title })));
  byId("lesson-choice").addEventListener("change", (event) => page.takeLesson(event.target.value));
  const lecture = () => {
    page.look(page.state.view ? "" : "lecture");
    // An element missing in this view passes the focus to the button that leads back.
    if (document.activeElement.getClientRects().length === 0) byId(page.state.view ? "leave-lecture" : "lecture").focus({ preventScroll: true });
  };
  const read = () => page.state.view && page.state.lesson && page.readLesson(!page.isReading);
  const escape = () => {
    if (!byId("notice").hidden) page.complain(null);
    else if (byId("told").textContent) setText(byId("told"), "");
    else if (page.isReading) page.readLesson(false);
    else if (page.state.view) lecture();
  };
  for (const id of ["lecture", "leave-lecture"]) byId(id).addEventListener("click", lecture);
  byId("read-lesson").addEventListener("click", read);
  byId("dismiss").addEventListener("click", () => page.complain(null));
  const restart = () => page.begin(page.state, { play: true });
  const step = () => {
    page.play(false);
    page.advance(Math.min(page.duration, page.now + 100), 1000);
    page.wake();
  };
  const toggle = () => (page.now >= page.duration ? restart() : page.play(!page.isPlaying));
  byId("play").addEventListener("click", toggle);
  byId("step").addEventListener("click", step);
  byId("restart").addEventListener("click", restart);
  byId("tell").addEventListener("click", () => page.tell());
  byId("untell").addEventListener("click", () => {
    setText(byId("told"), "");
    byId("tell").focus();
  });
  for (const id of ["group", "log"]) byId(id).addEventListener("change", () => page.wake());
  byId("forget").addEventListener("click", () => {
    page.engine.call({ op: "forget" });
    page.nextSecond = Math.ceil(page.now / 1000);
    page.seconds = page.said.map(() => []);
    page.wake();
  });
  byId("form").addEventListener("submit", (event) => event.preventDefault());
  byId("share").addEventListener("click", async (event) => {
    await page.writeAddress();
    copy(event.target, location.href);
  });
  byId("copy-python").addEventListener("click", (event) => copy(event.target, pythonOf(page.state)));
  byId("download").addEventListener("click", () => save("scenario.toml", scenarioOf(page.state), "application/toml"));
  byId("figures-file").addEventListener("click", () => {
    try {
      save("summary.json", page.figures(), "application/json");
    } catch (error) {
      page.complain(error.message);
    }
  });
  byId("apply").addEventListener("click", () => page.apply(byId("text").value));
  // The address holds the state, so links within the page must not change it.
  const leads = (link, to, focus) => byId(link).addEventListener("click", (event) => {
    event.preventDefault();
    byId(to).scrollIntoView();
    byId(focus).focus({ preventScroll: true });
  });
  leads("to-settings", "form", "qdisc-a");
  leads("to-scenario", "scenario", "text");
  leads("to-stage", "stage", "stage");
  const { scenarios } = page.catalogue;
  byId("shipped").replaceChildren(make("option", { value: "", text: "choose…" }), ...scenarios.map((name) => make("option", { value: name, text: name })));
  byId("shipped").addEventListener("change", (event) => {
    if (!event.target.value) return;
    page.apply(page.engine.call({ op: "shipped", name: event.target.value }).text);
    event.target.value = "";
  });
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, [contenteditable]")) return;
    const isButton = event.target.closest("button, summary, a");
    const act = { " ": isButton ? null : toggle, ".": step, r: restart, t: () => page.tell(), v: lecture, l: read, Escape: escape }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  addEventListener("hashchange", async () => {
    if (location.hash === page.ownAddress) return;
    await fromAddress(page);
  });
  wireDrop(page);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page.relook());
  addEventListener("resize", () => page.relook());
  const sizes = new ResizeObserver(() => page.wake());
  document.querySelectorAll(".picture").forEach((picture) => sizes.observe(picture));
  addEventListener("beforeprint", () => page.onPaper(true));
  addEventListener("afterprint", () => page.onPaper(false));
}

function wireDrop(page) {
  const show = (event, isOver) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    byId("drop").hidden = !isOver;
  };
  addEventListener("dragover", (event) => show(event, true));
  addEventListener("dragleave", (event) => event.relatedTarget || show(event, false));
  addEventListener("drop", (event) => {
    show(event, false);
    if (event.dataTransfer?.files.length) page.takeFile(event.dataTransfer.files[0]);
  });
}

/** Starts the state of the address, or a lesson if the address has none or an invalid one. */
async function fromAddress(page) {
  let problem = null;
  let state = null;
  try {
    state = location.hash.length > 1 ? await stateOf(location.hash) : null;
    if (state?.lesson && !lessonOf(state.lesson)) {
      throw new Error(`There is no lesson “${state.lesson.slice(0, 40)}”; expected ${LESSONS.map(({ id }) => id).join(", ")}.`);
    }
  } catch (error) {
    problem = `This address cannot be used: ${error.message} The page begins with a lesson instead.`;
    state = null;
  }
  const isPlaying = !calm.matches;
  const isOfLesson = state && lessonOf(state.lesson);
  const isBare = state && Object.entries(state).every(([key, value]) => ["lesson", "speed", "view"].includes(key) || value === DEFAULTS[key]);
  if (!state || (isOfLesson && isBare)) page.takeLesson(isOfLesson ? state.lesson : LESSONS[0].id, state ? { speed: state.speed, view: state.view } : {}, isPlaying);
  else if (!page.begin(state, { play: isPlaying })) {
    problem = byId("notice").textContent;
    page.takeLesson(LESSONS[0].id, { speed: DEFAULTS.speed }, isPlaying);
    problem = `What this address asks for cannot be played: ${problem.replace(/\.?$/, ".")} The page begins with a lesson instead.`;
  }
  if (problem) page.complain(problem);
}

async function start() {
  performance.mark("begun");
  readStyle();
  const missing = lack();
  if (missing) throw new Error(missing);
  const page = new Page(await engineOf(byId("module").textContent));
  performance.mark("engine");
  wire(page);
  await fromAddress(page);
  page.draw();
  performance.mark("drawn");
  setText(byId("about-engine"), `qdelay ${page.catalogue.version}. Nothing is sent anywhere: the page has the whole simulator in it.`);
  globalThis.qdelayPlayground = page;
}

start().catch((error) => notify(error.message));
