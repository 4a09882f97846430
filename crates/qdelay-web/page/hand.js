// The hand on the link: a ring to drag, what comes to draw, the slider, and arrow keys.

import { byId, setText } from "./make.js";
import { MOST_KBIT, drawn, from, rateAt } from "./link.js";

const SLIDER_KBIT = 50; // of the slider, above its end, which is 0
const SLIDER = 1000;
const toRate = (place) => (place <= 0 ? 0 : SLIDER_KBIT * (MOST_KBIT / SLIDER_KBIT) ** (place / SLIDER));
const toPlace = (kbit) => (kbit < SLIDER_KBIT ? 0 : Math.round((SLIDER * Math.log(kbit / SLIDER_KBIT)) / Math.log(MOST_KBIT / SLIDER_KBIT)));

export const mbitText = (kbit) => (kbit < 1000 ? `${Number(kbit.toPrecision(3))} kbit/s` : `${Number((kbit / 1000).toPrecision(3))} Mbit/s`);

const FACTOR = 1.15; // of an arrow key

/** `points()` are the link's, `now()` the time in ms, `take(points)` is told of new ones; `picture` is that of the link. */
export class Hand {
  constructor(picture, { points, now, take, hold, width }) {
    Object.assign(this, { picture, points, now, take, hold, width });
    this.canvas = picture.canvas;
    this.slider = byId("rate");
    this.last = null;
    this.canvas.addEventListener("pointerdown", (event) => this.down(event));
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, () => this.up());
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.slider.addEventListener("input", () => this.set(toRate(Number(this.slider.value))));
  }

  /** Shows the rate that holds now; `isOurs` where it may be changed. */
  show(isOurs) {
    this.isOurs = isOurs;
    this.canvas.classList.toggle("drawable", isOurs);
    this.canvas.setAttribute("aria-disabled", String(!isOurs));
    byId("rate-row").hidden = !isOurs;
    if (!isOurs) return;
    const kbit = this.rate();
    const text = mbitText(kbit);
    setText(byId("rate-said"), text);
    if (document.activeElement !== this.slider || !this.isSliding(kbit)) this.slider.value = String(toPlace(kbit));
    if (this.slider.getAttribute("aria-valuetext") === text) return;
    this.slider.setAttribute("aria-valuetext", text);
    this.canvas.setAttribute("aria-valuenow", String(kbit / 1000));
    this.canvas.setAttribute("aria-valuetext", text);
  }
  /** The rate from now on. */
  rate() {
    return rateAt(this.points(), Math.ceil(this.now()));
  }
  /** Whether the slider stands where this rate is, but for rounding. */
  isSliding(kbit) {
    return Math.abs(toPlace(kbit) - Number(this.slider.value)) <= 2;
  }

  set(kbit) {
    if (this.isOurs) this.take(from(this.points(), this.now(), kbit));
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const [seconds, mbps] = this.picture.valueAt(event.clientX - box.left, event.clientY - box.top);
    return [seconds * 1000, Math.max(0, mbps * 1000)];
  }

  down(event) {
    if (!this.isOurs || event.button !== 0) return;
    event.preventDefault();
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    this.hold(true);
    const place = this.place(event);
    // Near the line of now a finger means the ring.
    this.isDrawing = place[0] > this.now() + 0.012 * (this.picture.x.high - this.picture.x.low) * 1000;
    this.last = place;
    this.move(event);
  }

  move(event) {
    const ahead = this.isOurs && this.picture.box && this.place(event)[0] > this.now() + 300;
    this.canvas.classList.toggle("ahead", ahead && (!this.last || this.isDrawing));
    if (!this.last) return;
    const place = this.place(event);
    if (this.isDrawing) {
      const begin = (at) => [Math.max(at[0], this.now() + this.width), at[1]];
      this.take(drawn(this.points(), begin(this.last), begin(place), this.width));
    } else this.set(place[1]);
    this.last = place;
  }

  up() {
    if (!this.last) return;
    this.last = null;
    this.hold(false);
  }

  key(event) {
    const kbit = this.rate();
    const to = { ArrowUp: Math.max(kbit * FACTOR, 100), ArrowDown: kbit < 110 ? 0 : kbit / FACTOR, PageUp: Math.max(kbit * 2, 100), PageDown: kbit < 110 ? 0 : kbit / 2 }[event.key];
    if (to === undefined || !this.isOurs) return;
    event.preventDefault();
    this.set(to);
  }
}
