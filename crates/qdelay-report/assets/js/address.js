"use strict";
// The view in the address, after the `#`: what is selected and how it is shown, as far as it is not the default. Axes and labels
// have their names there, so that an address fits the report of a repeated run.

const ADDRESS_FLAGS = ["each", "delayLog", "fromZero", "cdfLog", "tail", "stageShare", "byLog", "overlay", "sameDelay", "seriesLog", "viewerLog", "descending"];
const ADDRESS_AXES = ["colour", "shape", "panels"];
const ONLY = "only."; // before the name of an axis whose labels are selected
const HELD = "held."; // before the name of an axis of which two cases side by side have the same label

const axisName = (axis) => (axis < 0 ? "none" : axes[axis].name);
const axisNamed = (name) => (name === "none" ? -1 : axes.findIndex((axis) => axis.name === name));

/** Settings that differ from the default, as pairs of key and value. */
function addressPairs() {
  const home = defaultState();
  const pairs = [];
  axes.forEach((axis, at) => {
    const same = home.selected[at].size === state.selected[at].size && [...home.selected[at]].every((label) => state.selected[at].has(label));
    if (!same) pairs.push(...([...state.selected[at]].sort((a, b) => a - b).map((label) => [ONLY + axis.name, axis.labels[label]])), ...(state.selected[at].size ? [] : [[ONLY + axis.name, ""]]));
  });
  ADDRESS_AXES.forEach((key) => state[key] !== home[key] && pairs.push([key, axisName(state[key])]));
  ADDRESS_FLAGS.forEach((key) => state[key] !== home[key] && pairs.push([key, state[key] ? "yes" : "no"]));
  ["measure", "rate", "cdfOf", "by", "find"].forEach((key) => state[key] !== home[key] && pairs.push([key, state[key]]));
  ["left", "right"].forEach((key) => state[key] !== null && comparedAxis() >= 0 && pairs.push([key, axes[comparedAxis()].labels[state[key]]]));
  state.held.forEach((label, axis) => label !== null && pairs.push([HELD + axes[axis].name, axes[axis].labels[label]]));
  if (state.viewer !== null) pairs.push(["viewer", state.viewer]);
  if (state.sort !== null) pairs.push(["sort", typeof state.sort === "number" ? axisName(state.sort) : state.sort]);
  if (timeRange) pairs.push(["time", timeRange.map((time) => Number(time.toPrecision(6))).join("..")]);
  return pairs;
}

/** Takes a value of an address if it is one of this page; others are left at their default. */
function takePair(taken, key, value) {
  const among = (choices) => choices.includes(value) && (taken[key] = value);
  if (key.startsWith(ONLY)) takeLabel(taken, key.slice(ONLY.length), value);
  else if (ADDRESS_FLAGS.includes(key)) taken[key] = value === "yes";
  else if (ADDRESS_AXES.includes(key)) { if (value === "none" || axisNamed(value) >= 0) taken[key] = axisNamed(value); }
  else if (key === "measure") among(Object.keys(MEASURES));
  else if (key === "rate") among(knownRates);
  else if (key === "by") among(BY_KINDS.map(([kind]) => kind));
  else if (key === "cdfOf") among(CDF_SOURCES.map(([name]) => name));
  else if (key === "find") taken.find = value;
  else if (key === "left" || key === "right") taken[`${key}Label`] = value;
  else if (key === "viewer") among(viewerFlows.map(([flow]) => flow));
  else if (key.startsWith(HELD)) takeHeld(taken, key.slice(HELD.length), value);
  else if (key === "sort") taken.sort = COLUMNS.some((column) => column.path === value) ? value : axisNamed(value) >= 0 ? axisNamed(value) : null;
}

function takeLabel(taken, name, label) {
  const axis = axisNamed(name);
  if (axis < 0) return;
  taken.only ||= new Map();
  if (!taken.only.has(axis)) taken.only.set(axis, new Set());
  const at = axes[axis].labels.indexOf(label);
  if (at >= 0) taken.only.get(axis).add(at);
}

function takeHeld(taken, name, label) {
  const axis = axisNamed(name);
  const at = axis < 0 ? -1 : axes[axis].labels.indexOf(label);
  if (at >= 0) (taken.held ||= axes.map(() => null))[axis] = at;
}

/** The section and the pairs of the address. */
function addressParts() {
  const [section, query = ""] = location.hash.slice(1).split("?");
  return { section, pairs: [...new URLSearchParams(query)] };
}

/** The state that the address asks for. */
function takeAddress() {
  const taken = {};
  const { pairs } = addressParts();
  pairs.forEach(([key, value]) => takePair(taken, key, value));
  const { only = new Map(), leftLabel, rightLabel, ...rest } = taken;
  Object.assign(state, defaultState(), rest);
  only.forEach((labels, axis) => { state.selected[axis] = labels; });
  // Their axis depends on the colours.
  const compared = comparedAxis() >= 0 ? axes[comparedAxis()].labels : [];
  for (const [key, label] of [["left", leftLabel], ["right", rightLabel]]) if (compared.includes(label)) state[key] = compared.indexOf(label);
  const [from, to] = (pairs.find(([key]) => key === "time")?.[1] || "").split("..").map(Number);
  timeRange = to > from ? [from, to] : null;
}

let rememberSoon = null;
let isRemembering = false; // not before the page stands as its address asks

/** Puts the view into the address, once for changes that follow each other closely. */
function remember() {
  if (!isRemembering) return;
  clearTimeout(rememberSoon);
  rememberSoon = setTimeout(() => {
    const query = new URLSearchParams(addressPairs()).toString();
    const { section } = addressParts();
    const hash = query ? `${section}?${query}` : section;
    if (hash !== location.hash.slice(1)) history.replaceState(null, "", `#${hash}`);
  }, 150);
}

/** The part of the page that the address names, which no browser finds with a view behind it. */
function showSection() {
  const { section } = addressParts();
  if (section) document.getElementById(section)?.scrollIntoView();
}
