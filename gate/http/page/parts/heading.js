/* The head of a view: its title, a state beside it, and its tools at the other end. */

import { h } from "../dom.js";

export function heading(title, { beside = null, tools = null, lead = null } = {}) {
  return h("header", { class: "heading" }, h("div", { class: "heading-row" }, h("h1", {}, title), beside, tools && h("div", { class: "tools" }, tools)), lead && h("p", { class: "lead" }, lead));
}
