/* A slider for a threshold, under a histogram of what there is: it says at once what a value would leave. */

import { fill, freshId, h, s } from "../dom.js";
import { count, percent } from "../format.js";

const BINS = 70;
const HIGH = 44;

/* `rule`: of `in_force.js`; `values`: shares from its floor to 1. `onChange(value)`: with every move. */
export function thresholdSlider({ rule, value, values, onChange }) {
  const { floor, threshold: own, steps } = rule;
  const label = `${rule.label} of at least`;
  const id = freshId("threshold");
  const input = h("input", { type: "range", id, min: Math.round(floor * steps), max: steps, step: 1, value: Math.round(value * steps) });
  let at = value;
  const output = h("output", { for: id });
  const bars = s("svg", { class: "histogram", viewBox: `0 0 ${BINS} ${HIGH}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const bins = histogram(values, floor);
  const draw = () => {
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
  const set = (to) => {
    at = to;
    draw();
    onChange(at);
  };
  const toOwn = () => {
    input.value = Math.round(own * steps);
    set(own);
  };
  // The threshold of the profile may lie between two steps; the one nearest to it stands for it.
  input.addEventListener("input", () => set(Number(input.value) === Math.round(own * steps) ? own : Number(input.value) / steps));
  draw();
  const reset = h("button", { type: "button", class: "quiet", onclick: toOwn }, `Profile: ${percent(own)}`);
  return h(
    "div",
    { class: "threshold" },
    h("div", { class: "threshold-head" }, h("label", { for: id }, label), output, reset),
    h("div", { class: "threshold-body" }, bars, input),
    h("div", { class: "threshold-ends", "aria-hidden": "true" }, h("span", {}, percent(floor)), h("span", {}, percent(1))),
  );
}

function histogram(values, floor) {
  const bins = Array.from({ length: BINS }, () => 0);
  for (const value of values) {
    const place = Math.floor(((value - floor) / (1 - floor)) * BINS);
    bins[Math.max(0, Math.min(BINS - 1, place))] += 1;
  }
  return bins;
}
