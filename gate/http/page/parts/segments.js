/* A choice of one among a few, as radio buttons in a row: arrow keys move among them, as everywhere. */

import { freshId, h } from "../dom.js";

export function segments(label, options, chosen, onChange) {
  const name = freshId("segments");
  return h(
    "fieldset",
    { class: "segments" },
    h("legend", { class: "unseen" }, label),
    options.map(({ value, label: text }) =>
      h("label", {}, h("input", { type: "radio", name, value, checked: value === chosen, onchange: () => onChange(value) }), h("span", {}, text)),
    ),
  );
}
