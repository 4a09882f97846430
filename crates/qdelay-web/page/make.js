// Elements of the page.

import { number } from "./chart.js";

export const byId = (id) => document.getElementById(id);

export const milliseconds = (value) => (value !== null && value >= 1000 ? `${number(value / 1000)} s` : `${number(value)} ms`);

/** Shows an error above the page; null hides it. */
export function notify(sentence) {
  for (const id of ["notice", "notice-box"]) byId(id).hidden = sentence === null;
  setText(byId("notice"), sentence ?? "");
}

/** Replaces elements; the focus moves to the new element with the same id. */
export function renew(place, ...children) {
  const focused = place.contains(document.activeElement) ? document.activeElement.id : "";
  place.replaceChildren(...children.filter((child) => child !== null));
  if (focused) byId(focused)?.focus({ preventScroll: true });
}

/** Sets a text only if it differs, to avoid another layout. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
