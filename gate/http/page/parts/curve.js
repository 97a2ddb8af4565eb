/* A recall curve: how likely a pair is found, by how much it resembles. Small beside a name, or large with its axes. */

import { s } from "../dom.js";
import { percent } from "../format.js";

const LARGE = { width: 640, height: 280, left: 52, right: 16, top: 12, bottom: 42 };
const SMALL = { width: 120, height: 44, left: 2, right: 2, top: 3, bottom: 3 };

export function recallCurve(points, { threshold = null, small = false, label }) {
  const box = small ? SMALL : { ...LARGE, width: Math.max(300, Math.min(LARGE.width, window.innerWidth - 72)) }; // its text keeps its size
  const first = points[0].resemblance;
  const x = (value) => box.left + ((value - first) / (1 - first)) * (box.width - box.left - box.right);
  const y = (value) => box.top + (1 - value) * (box.height - box.top - box.bottom);
  const path = points.map((point, place) => `${place ? "L" : "M"}${x(point.resemblance).toFixed(1)} ${y(point.found).toFixed(1)}`).join("");
  const at = threshold === null ? null : Math.max(first, threshold);
  return s(
    "svg",
    { class: small ? "curve small" : "curve", viewBox: `0 0 ${box.width} ${box.height}`, role: "img", "aria-label": label },
    !small && axes(box, first, x, y),
    at !== null && s("line", { class: "threshold-line", x1: x(at), x2: x(at), y1: box.top, y2: box.height - box.bottom }),
    at !== null && !small && s("text", { class: "axis", x: x(at) - 6, y: box.height - box.bottom - 8, "text-anchor": "end" }, `threshold ${percent(at)}`),
    s("path", { class: "line main", d: path }),
    !small && points.map((point) => s("circle", { class: "main", cx: x(point.resemblance), cy: y(point.found), r: 3 }, s("title", {}, `${percent(point.found)} of pairs that resemble to ${percent(point.resemblance)} are found`))),
  );
}

function axes(box, first, x, y) {
  const shares = [0, 0.25, 0.5, 0.75, 1];
  const across = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1].filter((value) => value >= first);
  return [
    shares.map((value) => [
      s("line", { class: value === 0 ? "base" : "grid", x1: box.left, x2: box.width - box.right, y1: y(value), y2: y(value) }),
      s("text", { class: "axis", x: box.left - 8, y: y(value) + 4, "text-anchor": "end" }, `${value * 100} %`),
    ]),
    across.map((value) => s("text", { class: "axis", x: x(value), y: box.height - box.bottom + 18, "text-anchor": "middle" }, `${Math.round(value * 100)} %`)),
    s("text", { class: "axis", x: (box.left + box.width - box.right) / 2, y: box.height - 4, "text-anchor": "middle" }, "resemblance of a pair"),
  ];
}
