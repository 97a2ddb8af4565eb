/* A text, cut in passages: those that the other side has too, and those that it has not. */

import { h } from "../dom.js";

export function passagePane(passages, label) {
  return h(
    "div",
    { class: "pane", tabindex: "0", role: "region", "aria-label": label },
    passages.length === 0 ? h("p", { class: "soft" }, "The text is empty.") : passages.map((passage) => h(passage.shared ? "span" : "mark", { class: passage.shared ? "shared" : "own" }, passage.text)),
  );
}
