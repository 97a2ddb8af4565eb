/* Charts over time, as SVG: stacked bars, or lines. The pointer or the arrow keys read the values of one interval. */

import { fill, h, s } from "../dom.js";
import { minute, clock } from "../format.js";
import { niceTicks } from "./ticks.js";

const HEIGHT = 190;
const PAD = { left: 54, right: 8, top: 10, bottom: 22 };

/* data: {times, seconds, series: [{label, kind, values}]}; a value may be null. `unit` formats one. */
export function timeChart({ label, lines = false, unit }) {
  const plot = s("svg", { class: "chart", height: HEIGHT, role: "img", tabindex: "0", "aria-label": label });
  const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  const said = h("span", { class: "unseen", "aria-live": "polite" });
  const legend = h("ul", { class: "legend" });
  const element = h("figure", { class: "chart-box" }, h("div", { class: "plot" }, plot, tip), legend, said);
  const state = { data: null, width: 0, at: null };

  const draw = () => {
    if (state.data && state.width > 0) drawChart(plot, state, { lines, unit });
  };
  const point = (place, speak) => {
    state.at = place === null ? null : Math.max(0, Math.min(state.data.times.length - 1, place));
    draw();
    showTip(tip, state, unit);
    if (speak && state.at !== null) said.textContent = valuesAt(state.data, state.at, unit).join(", ");
  };
  plot.addEventListener("pointermove", (event) => {
    if (!state.data) return;
    const inner = state.width - PAD.left - PAD.right;
    point(Math.floor(((event.offsetX - PAD.left) / inner) * state.data.times.length), false);
  });
  plot.addEventListener("pointerleave", () => point(null, false));
  plot.addEventListener("blur", () => point(null, false));
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !state.data) return;
    event.preventDefault();
    point((state.at ?? state.data.times.length) + step, true);
  });
  new ResizeObserver(([entry]) => {
    state.width = Math.floor(entry.contentRect.width);
    draw();
  }).observe(element.firstChild);

  return {
    element,
    update(data, summary) {
      state.data = data;
      if (state.at !== null && state.at >= data.times.length) state.at = null;
      plot.setAttribute("aria-label", `${label}. ${summary}`);
      fill(legend, data.series.map((one) => h("li", { class: one.kind }, h("i", { class: "dot", "aria-hidden": "true" }), one.label, one.total !== undefined && h("b", {}, one.total))));
      draw();
      showTip(tip, state, unit);
    },
  };
}

function drawChart(plot, { data, width, at }, { lines, unit }) {
  const inner = { width: width - PAD.left - PAD.right, height: HEIGHT - PAD.top - PAD.bottom };
  const number = data.times.length;
  const top = highest(data.series, number, lines);
  const ticks = niceTicks(top, 4);
  const most = ticks[ticks.length - 1];
  const x = (place) => PAD.left + (place / number) * inner.width;
  const y = (value) => PAD.top + inner.height * (1 - value / most);
  plot.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  fill(
    plot,
    ticks.map((tick) => [
      s("line", { class: tick === 0 ? "base" : "grid", x1: PAD.left, x2: width - PAD.right, y1: y(tick), y2: y(tick) }),
      s("text", { class: "axis", x: PAD.left - 8, y: y(tick) + 4, "text-anchor": "end" }, tick === 0 ? "0" : unit(tick)),
    ]),
    timeTicks(data.times, inner.width).map((place) => s("text", { class: "axis", x: x(place), y: HEIGHT - 5, "text-anchor": "middle" }, minute(data.times[place]))),
    at !== null && s("rect", { class: "cursor", x: x(at), y: PAD.top, width: Math.max(1, inner.width / number), height: inner.height }),
    lines ? drawLines(data.series, (place) => x(place + 0.5), y) : drawBars(data.series, number, { x, y, width: inner.width / number }),
  );
}

function highest(series, number, lines) {
  let top = 0;
  for (let place = 0; place < number; place += 1) {
    const values = series.map((one) => one.values[place] ?? 0);
    top = Math.max(top, lines ? Math.max(0, ...values) : values.reduce((sum, value) => sum + value, 0));
  }
  return top;
}

function drawBars(series, number, { x, y, width }) {
  const gap = width > 5 ? 1.5 : width > 3 ? 0.75 : 0;
  const bars = [];
  for (let place = 0; place < number; place += 1) {
    let below = 0;
    for (const one of series) {
      const value = one.values[place] ?? 0;
      if (value === 0) continue;
      const high = y(below + value);
      bars.push(s("rect", { class: one.kind, x: x(place) + gap / 2, width: Math.max(0.5, width - gap), y: high, height: Math.max(0.5, y(below) - high) }));
      below += value;
    }
  }
  return bars;
}

/* A line ends where a value is missing; a value alone is a dot. */
function drawLines(series, x, y) {
  return series.map((one) => {
    const path = [];
    const dots = [];
    one.values.forEach((value, place) => {
      if (value === null) return;
      const before = place > 0 && one.values[place - 1] !== null;
      const after = place + 1 < one.values.length && one.values[place + 1] !== null;
      if (!before && !after) dots.push(s("circle", { class: one.kind, cx: x(place), cy: y(value), r: 2.5 }));
      else path.push(`${before ? "L" : "M"}${x(place).toFixed(1)} ${y(value).toFixed(1)}`);
    });
    return s("g", {}, s("path", { class: `line ${one.kind}`, d: path.join("") || "M0 0" }), dots);
  });
}

/* At whole minutes, as many as there is room for. */
function timeTicks(times, width) {
  const span = (times[times.length - 1] - times[0]) / 60_000;
  const apart = [1, 2, 5, 10, 15, 30].find((minutes) => span / minutes <= width / 70) ?? 60;
  const number = (time) => Math.floor(time / 60_000 / apart);
  return times.map((_, place) => place).filter((place) => place > 1 && place < times.length - 1 && number(times[place]) !== number(times[place - 1]));
}

function valuesAt(data, at, unit) {
  const values = data.series.filter((one) => one.values[at]).map((one) => `${one.label} ${unit(one.values[at])}`);
  return [clock(data.times[at]), ...(values.length ? values : ["nothing"])];
}

function showTip(tip, { data, width, at }, unit) {
  tip.hidden = at === null || !data;
  if (tip.hidden) return;
  const [when, ...values] = valuesAt(data, at, unit);
  fill(tip, h("strong", {}, when), values.map((value) => h("span", {}, value)));
  const left = PAD.left + ((at + 0.5) / data.times.length) * (width - PAD.left - PAD.right);
  const right = left > width / 2;
  tip.style.setProperty("left", right ? "auto" : `${left + 12}px`);
  tip.style.setProperty("right", right ? `${width - left + 12}px` : "auto");
}
