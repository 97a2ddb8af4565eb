/* Both texts with what they share, scrolled together; or why they are not shown, and what to do about it. */

import { h } from "../dom.js";
import { count, percent } from "../format.js";
import { plain } from "../parts/document_name.js";
import { passagePane } from "../parts/passages.js";
import { scrollTogether } from "../parts/scroll_together.js";
import { supplied } from "../parts/supplied.js";
import { textForm } from "./compare_sides.js";

const SIDES = ["left", "right"];

export function passagesOf(view, answer, query, change) {
  if (answer.passages === null) return missing(view, answer, query, change);
  const panes = answer.passages.map((passages, place) => passagePane(passages, `Text of the ${SIDES[place]} side`));
  const jump = scrollTogether(panes, answer.passages, view.signal);
  return h(
    "section",
    { class: "card flush texts" },
    h(
      "div",
      { class: "texts-head" },
      h("h2", {}, "Texts"),
      h("p", { class: "key" }, h("span", { class: "key-shared" }, "shared"), h("span", { class: "key-own" }, "only on this side")),
      h("div", { class: "actions" }, h("button", { type: "button", class: "button", onclick: () => jump(-1) }, "Previous difference"), h("button", { type: "button", class: "button", onclick: () => jump(1) }, "Next difference")),
    ),
    h("div", { class: "panes" }, panes.map((pane, place) => h("div", { class: "pane-box" }, h("h3", {}, nameOf(answer, query, SIDES[place]), h("small", {}, sharedShare(answer.passages[place]))), pane))),
  );
}

function nameOf(answer, query, side) {
  return plain(answer[side].title ?? query[side] ?? supplied(query[`${side}_text`])?.name ?? `${side === "left" ? "Left" : "Right"} text`);
}

function sharedShare(passages) {
  const all = passages.reduce((sum, passage) => sum + passage.text.length, 0);
  const shared = passages.reduce((sum, passage) => sum + (passage.shared ? passage.text.length : 0), 0);
  return ` ${count(all)} characters, ${percent(all ? shared / all : 0)} shared`;
}

/* A text that is not kept can be given, for this comparison. */
function missing(view, answer, query, change) {
  const sides = SIDES.filter((side) => query[side] && !answer[side].has_text);
  return h(
    "section",
    { class: "card" },
    h("h2", {}, "Texts"),
    h("p", { class: "soft" }, answer.passages_missing),
    sides.length > 0 &&
      h(
        "details",
        { class: "give" },
        h("summary", {}, "Give the texts, to see what they share"),
        h("div", { class: "columns even" }, sides.map((side) => h("div", {}, h("h3", {}, plain(query[side])), textForm(view, side, (key) => change({ [`${side}_text`]: key }))))),
      ),
  );
}
