/* Relations: their names, their order in charts, and the badge that shows one. */

import { h } from "../dom.js";
import { words } from "../format.js";

/* As they are stacked, the documents that pass at the bottom. */
export const RELATIONS = ["new", "revision", "too_short", "empty", "unreadable", "exact", "near", "contained", "contains"];

export const MEANINGS = {
  new: "Nothing like it was known.",
  revision: "Another version of the same document was known.",
  too_short: "Too few words for anything but an exact comparison.",
  empty: "It has no text.",
  unreadable: "No text could be read from it.",
  exact: "The same text was known, but for case and white space.",
  near: "A document much like it was known.",
  contained: "Nearly all of it was known as part of a longer document.",
  contains: "It holds nearly all of a document that was known.",
};

export function badge(relation) {
  if (!relation) return h("span", { class: "soft" }, "not judged");
  return h("span", { class: `badge r-${relation}`, title: MEANINGS[relation] ?? null }, h("i", { class: "dot", "aria-hidden": "true" }), words(relation));
}
