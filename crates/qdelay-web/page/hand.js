// Manual control of the link: a ring to drag, drawing of future rates, the slider, and arrow keys.

import { byId, setText } from "./make.js";
import { MOST_KBIT, drawn, from, mbitText, rateAt } from "./link.js";

/** True for a touch screen. */
export const fingers = matchMedia("(any-pointer: coarse)");

const SLIDER_KBIT = 50; // of the slider, above its end, which is 0
const SLIDER = 1000;
const toRate = (place) => (place <= 0 ? 0 : SLIDER_KBIT * (MOST_KBIT / SLIDER_KBIT) ** (place / SLIDER));
const toPlace = (kbit) => (kbit < SLIDER_KBIT ? 0 : Math.round((SLIDER * Math.log(kbit / SLIDER_KBIT)) / Math.log(MOST_KBIT / SLIDER_KBIT)));

const FACTOR = 1.15; // of an arrow key
const FINGER_MOVED_PX = 8;

/** `points()` returns the link's points, `now()` the time in ms; `take(points)` receives new ones; `picture` is the link's chart. */
export class Hand {
  constructor(picture, { points, now, take, hold, width }) {
    Object.assign(this, { picture, points, now, take, hold, width });
    this.canvas = picture.canvas;
    /** Canvas, and the ring above it for dragging by touch: elsewhere a touch scrolls the page. */
    this.ground = byId("hand");
    this.ring = byId("ring");
    this.slider = byId("rate");
    this.last = null;
    /** Position of a touch that may become a drawing. */
    this.begun = null;
    this.ground.addEventListener("pointerdown", (event) => this.down(event));
    this.ground.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) this.ground.addEventListener(name, () => this.up());
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.slider.addEventListener("input", () => this.set(toRate(Number(this.slider.value))));
  }

  /** Shows the current rate; `isOurs` if it may be changed. */
  show(isOurs, ring) {
    this.isOurs = isOurs;
    this.ground.classList.toggle("drawable", isOurs);
    // Without a touch screen the chart alone suffices, and costs less.
    this.ring.hidden = !ring || !fingers.matches;
    const place = ring && `translate(${ring[0].toFixed(1)}px, ${ring[1].toFixed(1)}px)`;
    if (!this.ring.hidden && place !== this.placed) this.ring.style.transform = place;
    this.placed = this.ring.hidden ? null : place;
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
  /** Sets the rate from now on. */
  rate() {
    return rateAt(this.points(), Math.ceil(this.now()));
  }
  /** True if the slider already shows this rate, except for rounding. */
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
    const isFinger = event.pointerType === "touch";
    const isOnRing = event.target === this.ring;
    const place = this.place(event);
    const isAhead = place[0] > this.now() + 0.012 * (this.picture.x.high - this.picture.x.low) * 1000;
    // The first movement of a touch decides between drawing and scrolling.
    if (isFinger && !isOnRing) {
      this.begun = isAhead ? event : null;
      return;
    }
    event.preventDefault();
    // A press near the current time takes the ring.
    this.takeUp(event, !isFinger && isAhead);
  }
  takeUp(event, isDrawing) {
    this.canvas.focus({ preventScroll: true });
    this.ground.setPointerCapture(event.pointerId);
    this.hold(true);
    this.isDrawing = isDrawing;
    this.last = this.place(event);
    this.move(event);
  }

  move(event) {
    const ahead = this.isOurs && this.picture.box && this.place(event)[0] > this.now() + 300;
    this.ground.classList.toggle("ahead", ahead && (!this.last || this.isDrawing));
    if (this.begun) {
      const [across, up] = [Math.abs(event.clientX - this.begun.clientX), Math.abs(event.clientY - this.begun.clientY)];
      if (across < FINGER_MOVED_PX || across < up) return;
      const { begun } = this;
      this.begun = null;
      this.takeUp(begun, true);
    }
    if (!this.last) return;
    const place = this.place(event);
    if (this.isDrawing) {
      const begin = (at) => [Math.max(at[0], this.now() + this.width), at[1]];
      this.take(drawn(this.points(), begin(this.last), begin(place), this.width));
    } else this.set(place[1]);
    this.last = place;
  }

  up() {
    this.begun = null;
    if (!this.last) return;
    this.last = null;
    this.hold(false);
  }

  key(event) {
    const kbit = this.rate();
    const [more, less] = [Math.max(kbit * FACTOR, 100), kbit < 110 ? 0 : kbit / FACTOR];
    const to = { ArrowUp: more, ArrowRight: more, ArrowDown: less, ArrowLeft: less, PageUp: Math.max(kbit * 2, 100), PageDown: kbit < 110 ? 0 : kbit / 2 }[event.key];
    if (to === undefined || !this.isOurs) return;
    event.preventDefault();
    this.set(to);
  }
}
