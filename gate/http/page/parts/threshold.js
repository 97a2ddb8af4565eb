/* A slider for a threshold, under a histogram of what there is: it says at once what a value would leave. */

import { fill, freshId, h, s } from "../dom.js";
import { count, percent } from "../format.js";

const BINS = 70;
const HIGH = 44;

/* `values`: shares from `floor` to 1. `onChange(value)`: with every move. Returns {element, set}. */
export function thresholdSlider({ label, floor, value, own, values, onChange }) {
  const id = freshId("threshold");
  const input = h("input", { type: "range", id, min: Math.round(floor * 1000), max: 1000, step: 5, value: Math.round(value * 1000), list: `${id}-own` });
  const output = h("output", { for: id });
  const bars = s("svg", { class: "histogram", viewBox: `0 0 ${BINS} ${HIGH}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const bins = histogram(values, floor);
  const draw = () => {
    const at = Number(input.value) / 1000;
    const left = values.filter((one) => one >= at - 1e-9).length;
    input.setAttribute("aria-valuetext", `${percent(at)}, ${count(left)} of ${count(values.length)}`);
    fill(output, percent(at));
    const most = Math.max(1, ...bins);
    fill(
      bars,
      bins.map((number, place) => {
        const high = number === 0 ? 0 : Math.max(3, (number / most) * HIGH);
        const below = floor + ((place + 1) / BINS) * (1 - floor) <= at + 1e-9 && !(place === BINS - 1);
        return s("rect", { class: below ? "below" : "above", x: place + 0.1, width: 0.8, y: HIGH - high, height: high });
      }),
    );
  };
  input.addEventListener("input", () => {
    draw();
    onChange(Number(input.value) / 1000);
  });
  draw();
  const reset = h("button", { type: "button", class: "quiet", onclick: () => set(own) }, `Profile: ${percent(own)}`);
  const set = (to) => {
    input.value = Math.round(to * 1000);
    draw();
    onChange(to);
  };
  const element = h(
    "div",
    { class: "threshold" },
    h("div", { class: "threshold-head" }, h("label", { for: id }, label), output, reset),
    h("div", { class: "threshold-body" }, bars, input),
    h("div", { class: "threshold-ends", "aria-hidden": "true" }, h("span", {}, percent(floor)), h("span", {}, percent(1))),
  );
  return { element, set };
}

function histogram(values, floor) {
  const bins = Array.from({ length: BINS }, () => 0);
  for (const value of values) {
    const place = Math.floor(((value - floor) / (1 - floor)) * BINS);
    bins[Math.max(0, Math.min(BINS - 1, place))] += 1;
  }
  return bins;
}
