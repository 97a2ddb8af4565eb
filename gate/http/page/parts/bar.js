/* A share as a bar beside its number, with a mark where a threshold lies. */

import { s } from "../dom.js";

export function bar(share, { threshold = null, kind = "" } = {}) {
  const width = 100 * Math.max(0, Math.min(1, share ?? 0));
  return s(
    "svg",
    { class: `bar ${kind}`, viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" },
    s("rect", { class: "bar-track", width: 100, height: 8 }),
    s("rect", { class: "bar-fill", width, height: 8 }),
    threshold !== null && s("line", { class: "bar-mark", x1: threshold * 100, x2: threshold * 100, y1: 0, y2: 8 }),
  );
}
