/* Two documents side by side: how alike they are by every measure, where their fingerprints differ, which buckets bring
   them together, and which passages they share. */

import { api } from "../api.js";
import { fill, h } from "../dom.js";
import { counted, count, NONE, percent } from "../format.js";
import { bar } from "../parts/bar.js";
import { bits } from "../parts/bits.js";
import { familyHref, plain } from "../parts/document_name.js";
import { heading } from "../parts/heading.js";
import { badge } from "../parts/relation.js";
import { load, notice } from "../parts/states.js";
import { supplied } from "../parts/supplied.js";
import { table } from "../parts/table.js";
import { passagesOf } from "./compare_passages.js";
import { sideForm } from "./compare_sides.js";

export const title = "Compare";
export const SIDES = ["left", "right"];

export function show(view) {
  const { root, params } = view;
  const query = Object.fromEntries(params);
  const report = h("div", { class: "stack" });
  const forms = h("div", { class: "columns even" });
  const change = (next) => {
    Object.assign(query, next);
    view.setParams(query);
    drawForms();
    compare(view, report, query, change);
  };
  const swap = () => change(Object.fromEntries(SIDES.flatMap((side) => FIELDS.map((field) => [side + field, query[other(side) + field]]))));
  const drawForms = () => fill(forms, SIDES.map((side) => sideForm(view, side, query, change)));
  fill(
    root,
    heading(title, { lead: "Two documents by every measure, and what they share.", tools: h("button", { type: "button", class: "button", onclick: swap }, "Swap sides") }),
    forms,
    report,
  );
  drawForms();
  compare(view, report, query, change);
}

const FIELDS = ["", "_text", "_fingerprint"];
const other = (side) => (side === "left" ? "right" : "left");

/* What the service is asked for one side; null: it is not chosen yet. */
function asked(query, side) {
  const text = supplied(query[`${side}_text`]);
  if (text) return { text: text.text };
  if (query[side]) return { document_id: query[side] };
  if (query[`${side}_fingerprint`]) return { fingerprint: query[`${side}_fingerprint`] };
  return null;
}

function compare(view, report, query, change) {
  const [left, right] = SIDES.map((side) => asked(query, side));
  if (!left || !right) {
    const gone = SIDES.some((side) => query[`${side}_text`] && !supplied(query[`${side}_text`]));
    fill(
      report,
      gone
        ? notice({ title: "A text is no longer here", text: "A text that you give stays in this tab, and is forgotten when the page is loaded anew. Give it again." })
        : notice({ title: "Choose two documents", text: "Give the ids of documents that were checked in, or texts to compare with them or with each other." }),
    );
    return;
  }
  load(report, view.signal, () => api.compare({ left, right }, view.signal), (answer) => reportOf(view, answer, query, change), { label: "Comparing \u2026" });
}

function reportOf(view, answer, query, change) {
  return [
    verdict(answer, query),
    passagesOf(view, answer, query, change),
    card("Measures", measures(answer)),
    card("Fingerprints", fingerprints(answer)),
    answer.buckets.length > 0 && card("Buckets", buckets(answer)),
  ];
}

const card = (name, ...inside) => h("section", { class: "card" }, h("h2", {}, name), inside);

function verdict(answer, query) {
  const [first, ...others] = answer.reasons;
  const known = SIDES.filter((side) => query[side]);
  return h(
    "section",
    { class: `card verdict ${answer.alike ? "alike" : "different"}` },
    h("h2", {}, first, badge(answer.relation)),
    others.map((reason) => h("p", {}, reason)),
    known.length > 0 && h("p", { class: "links" }, known.map((side) => h("a", { href: familyHref(query[side]) }, `Family of the ${side} one`))),
  );
}

function measures({ measures: rows }) {
  const value = (row, which) => (row[which] === null ? NONE : row.name === "distance" ? count(row[which]) : percent(row[which]));
  const share = (row) => (row.name === "distance" ? null : (row.value ?? row.estimate));
  return table({
    caption: "Measures",
    rows,
    columns: [
      { title: "Measure", head: true, cell: (row) => h("span", { class: "nowrap" }, row.label) },
      { title: "Bar", unseen: true, cell: (row) => share(row) !== null && bar(share(row), { threshold: row.threshold }) },
      { title: "Exact", number: true, cell: (row) => value(row, "value") },
      { title: "Estimate", number: true, cell: (row) => value(row, "estimate") },
      { title: "Threshold", number: true, cell: (row) => value(row, "threshold") },
      { title: "Meaning", wide: true, cell: (row) => h("span", { class: "soft" }, row.meaning) },
    ],
  }).element;
}

function fingerprints({ fingerprints: prints, differing_bits: differing, distance }) {
  if (differing !== null && distance === null) return h("p", {}, "Under this profile a fingerprint is a number, and its bits are not compared: ", h("span", { class: "mono" }, prints.join(", ")), ".");
  if (differing === null) return h("p", { class: "soft" }, "One of the two has no fingerprint: it is too short, or the method of the profile has none.");
  return [
    h("p", {}, h("strong", {}, differing.length === 0 ? "All 64 bits agree." : `${counted(differing.length, "bit")} of 64 ${differing.length === 1 ? "differs" : "differ"}.`), " A filled cell is a 1."),
    bits(prints, differing),
  ];
}

function buckets(answer) {
  return [
    h("p", {}, h("strong", {}, `They meet in ${count(answer.buckets_met)} of ${counted(answer.buckets.length, "bucket")}.`), answer.would_meet ? " One is enough for a look-up to compare them." : " A look-up of one does not come upon the other."),
    h("ul", { class: "buckets" }, answer.buckets.map((bucket) => h("li", { class: bucket.met ? "met" : null }, h("span", {}, plain(bucket.label)), h("span", { class: "unseen" }, bucket.met ? ": met" : ": not met")))),
  ];
}
