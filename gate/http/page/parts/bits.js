/* Two fingerprints as 64 cells each, in the blocks that the index looks them up by; where they differ is marked. */

import { h } from "../dom.js";

const BLOCK = 16;

export function bits(prints, differing) {
  const values = prints.map((print) => BigInt(`0x${print}`));
  const apart = new Set(differing);
  const label = apart.size === 0 ? "All 64 bits agree" : `Bits that differ: ${[...differing].sort((a, b) => b - a).join(", ")}`;
  return h(
    "div",
    { class: "bits-box" },
    h("div", { class: "bits", role: "img", "aria-label": label }, [3, 2, 1, 0].map((block) => blockOf(block, values, apart))),
    h("dl", { class: "facts prints" }, ["Left", "Right"].map((side, place) => h("div", {}, h("dt", {}, side), h("dd", { class: "mono" }, prints[place])))),
  );
}

function blockOf(block, values, apart) {
  const order = Array.from({ length: BLOCK }, (_, place) => block * BLOCK + BLOCK - 1 - place);
  const row = (value) => h("div", { class: "bit-row" }, order.map((bit) => h("i", { class: `bit${(value >> BigInt(bit)) & 1n ? " one" : ""}${apart.has(bit) ? " differs" : ""}` })));
  const number = order.filter((bit) => apart.has(bit)).length;
  return h(
    "div",
    { class: "bit-block" },
    h("div", { class: "bit-head" }, h("span", {}, `${order[0]} \u2013 ${order[BLOCK - 1]}`), h("span", {}, number === 0 ? "equal" : `${number} differ`)),
    row(values[0]),
    h("div", { class: "bit-row marks" }, order.map((bit) => h("i", { class: apart.has(bit) ? "mark" : null }))),
    row(values[1]),
  );
}
