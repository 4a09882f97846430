// Elements and numbers.

/** An element; `attributes` may hold `text`, `class` and handlers (`onclick`). Text is only ever set as text. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value === "boolean") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter(Boolean));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** Three significant digits. */
export function number(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  if (size >= 1 || size === 0) return value.toFixed(size === 0 ? 0 : 2);
  return Number(value.toPrecision(2)).toString();
}

export const milliseconds = (value) => (value !== null && value >= 1000 ? `${number(value / 1000)} s` : `${number(value)} ms`);

/** Says what is wrong, above everything else; nothing is, with null. */
export function notify(sentence) {
  for (const id of ["notice", "notice-box"]) byId(id).hidden = sentence === null;
  setText(byId("notice"), sentence ?? "");
}

/** Renews elements: who was in one of them stays in that of its name. */
export function renew(place, ...children) {
  const focused = place.contains(document.activeElement) ? document.activeElement.id : "";
  place.replaceChildren(...children.filter((child) => child !== null));
  if (focused) byId(focused)?.focus({ preventScroll: true });
}

/** Sets a text where that is another one: what does not change is not laid out again. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
