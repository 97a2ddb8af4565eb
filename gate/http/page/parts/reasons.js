/* Why a verdict is what it is, in words. */

import { api } from "../api.js";
import { h } from "../dom.js";
import { plain } from "./document_name.js";
import { load } from "./states.js";

export const reasonList = (reasons) => h("ul", { class: "reasons" }, reasons.map((reason) => h("li", {}, plain(reason))));

/* Asked for when it is shown. */
export function reasonsOf(verdict, signal) {
  const element = h("div");
  load(element, signal, () => api.verdict(verdict.document_id, signal), (answer) => {
    const place = answer.verdicts.findIndex((one) => one.verdict_id === verdict.verdict_id);
    if (place < 0) return h("p", { class: "soft" }, "The document was checked in anew or deleted since.");
    return reasonList(answer.reasons[place]);
  });
  return element;
}
