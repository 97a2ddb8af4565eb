/* A document as people recognise it: its title if it has one, and its id. */

import { h } from "../dom.js";

/* Control and direction characters would change how what follows is shown; they are shown as their code points. */
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

export function plain(text) {
  return text.replace(HIDDEN, (found) => `\u2039U+${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}\u203a`);
}

export function documentName({ document_id, title, version }, href = null) {
  const name = plain(title || document_id);
  return h(
    "span",
    { class: "name" },
    href ? h("a", { href }, name) : h("span", { class: "name-title" }, name),
    (title || version) && h("span", { class: "name-id" }, title && plain(document_id), title && version && " \u00b7 ", version && `version ${plain(version)}`),
  );
}

export const compareHref = (left, right) => `#/compare?${new URLSearchParams({ left, right })}`;
export const familyHref = (id) => `#/family?${new URLSearchParams({ id })}`;
export const findHref = (id) => `#/find?${new URLSearchParams({ id })}`;
