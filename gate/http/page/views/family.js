/* The family of a document: its original first, how far the others are from it, when they came, and why each verdict. */

import { api } from "../api.js";
import { fill, h } from "../dom.js";
import { count, counted, moment, percent } from "../format.js";
import { bar } from "../parts/bar.js";
import { documentField } from "../parts/combobox.js";
import { compareHref, documentName, familyHref, findHref, plain } from "../parts/document_name.js";
import { heading } from "../parts/heading.js";
import { reasonList } from "../parts/reasons.js";
import { badge } from "../parts/relation.js";
import { load, notice } from "../parts/states.js";
import { opener, table } from "../parts/table.js";
import { timeline } from "../parts/timeline.js";

export const title = "Family";
const PAGE = 100;

export function show({ root, params, signal }) {
  const id = params.get("id");
  const offset = Math.max(0, Math.floor(Number(params.get("offset")) || 0));
  const body = h("div", { class: "stack" });
  const field = documentField({ label: "Document", value: id ?? "", signal, onChoose: go });
  const submit = (event) => {
    event.preventDefault();
    if (field.input.value.trim()) go(field.input.value.trim());
  };
  fill(
    root,
    heading(title, { lead: "An original and the documents that are like it." }),
    h("section", { class: "card ask" }, h("form", { class: "inline", onsubmit: submit }, field.element, h("button", { type: "submit", class: "button primary" }, "Show its family"))),
    body,
  );
  if (id === null || id === "") load(body, signal, () => api.overview(60, signal), largest);
  else load(body, signal, () => api.group(id, { offset, limit: PAGE }, signal), (family) => shownFamily(family, id, offset));
}

const go = (id) => {
  location.hash = familyHref(id);
};

function largest({ families }) {
  if (families.length === 0) return notice({ title: "Choose a document", text: "Give the id or the title of a document that was checked in, to see which ones are like it." });
  return h("section", { class: "card flush" }, h("h2", {}, "Largest families"), table({
    caption: "Largest families",
    rows: families,
    href: (family) => familyHref(family.group),
    columns: [
      { title: "Original", head: true, wide: true, cell: (family) => documentName({ document_id: family.group, title: family.title }, familyHref(family.group)) },
      { title: "Members", number: true, cell: (family) => count(family.members) },
    ],
  }).element);
}

function shownFamily(family, id, offset) {
  const original = family.group;
  const last = offset + family.members.length;
  return [
    h("section", { class: "card" },
      h("h2", {}, plain(family.members.find((member) => member.document_id === original)?.title ?? original)),
      h("p", {}, family.total === 1 ? "The only document of its family: nothing known is like it." : [h("strong", {}, counted(family.total, "document")), " in this family; the measures compare each with the original."]),
      family.members.length > 1 && timeline(family.members, original),
      h("p", { class: "links" }, h("a", { href: findHref(id) }, "Find similar documents")),
    ),
    h("section", { class: "card flush" }, members(family, id), pages(family, id, offset, last)),
    !family.complete && h("p", { class: "soft note" }, "The list of documents is not complete: there may be more members."),
  ];
}

function members(family, id) {
  const original = family.group;
  const isOriginal = (member) => member.document_id === original;
  return table({
    caption: "Members of the family",
    rows: family.members,
    columns: [
      { title: "Document", head: true, wide: true, cell: (member) => [documentName(member, isOriginal(member) ? findHref(original) : compareHref(original, member.document_id)), isOriginal(member) && h("span", { class: "tag" }, "original"), !isOriginal(member) && member.document_id === id && h("span", { class: "tag" }, "asked for")] },
      { title: "Verdict", cell: (member) => badge(member.relation) },
      { title: "Resemblance", number: true, cell: (member) => (isOriginal(member) ? "\u2013" : h("span", { class: "share" }, bar(member.resemblance), h("b", {}, percent(member.resemblance)))) },
      { title: "Distance", number: true, cell: (member) => (isOriginal(member) ? "\u2013" : count(member.distance)) },
      { title: "Fingerprint", mono: true, cell: (member) => member.fingerprint ?? "\u2013" },
      { title: "Checked in", cell: (member) => h("time", { datetime: member.checked_in_at }, moment(member.checked_in_at)) },
      { title: "Why", unseen: true, cell: (member) => member.reasons.length > 0 && opener("Why this verdict", `on ${plain(member.document_id)}`, () => reasonList(member.reasons)) },
    ],
  }).element;
}

function pages(family, id, offset, last) {
  if (family.total <= family.members.length) return null;
  const link = (to, label) => h("a", { class: "button", href: `#/family?${new URLSearchParams({ id, offset: to })}` }, label);
  return h("div", { class: "pager" }, offset > 0 && link(Math.max(0, offset - PAGE), "Earlier members"), h("span", { class: "soft" }, `${count(offset + 1)} to ${count(last)} of ${count(family.total)}`), last < family.total && link(last, "Later members"));
}
