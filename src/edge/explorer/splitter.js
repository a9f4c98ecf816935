/** Borders between panes that can be moved with the pointer and with arrow keys. */

import { kept } from "./storage.js";

const STEP = 24;

/**
 * Makes `border` set a custom property of the page, in pixels. `measure` returns the current size,
 * `direction` is 1 if the pane grows with the coordinate and -1 if it shrinks.
 */
export function activateSplitter(border, { property, measure, direction, least, most }) {
  const isHorizontal = border.getAttribute("aria-orientation") === "horizontal";
  const page = document.documentElement;
  const set = (size) => {
    const bounded = Math.round(Math.max(least, Math.min(most(), size)));
    page.style.setProperty(property, `${bounded}px`);
    border.setAttribute("aria-valuenow", String(bounded));
    kept.write(property, bounded);
  };
  const stored = kept.read(property, undefined);
  if (Number.isFinite(stored)) page.style.setProperty(property, `${stored}px`);
  border.setAttribute("aria-valuenow", String(Math.round(measure())));

  border.addEventListener("pointerdown", (down) => {
    const place = (event) => (isHorizontal ? event.clientY : event.clientX);
    const began = { place: place(down), size: measure() };
    const onMove = (event) => set(began.size + direction * (place(event) - began.place));
    border.setPointerCapture(down.pointerId);
    border.addEventListener("pointermove", onMove);
    border.addEventListener(
      "lostpointercapture",
      () => border.removeEventListener("pointermove", onMove),
      { once: true },
    );
    down.preventDefault();
  });
  border.addEventListener("keydown", (event) => {
    const steps = isHorizontal ? { ArrowDown: 1, ArrowUp: -1 } : { ArrowRight: 1, ArrowLeft: -1 };
    const step = steps[event.key];
    if (!step) return;
    set(measure() + direction * step * STEP);
    event.preventDefault();
  });
}
