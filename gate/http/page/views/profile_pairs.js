/* What another threshold would call alike, among the documents that are stored: a sample of them is looked up once. */

import { api } from "../api.js";
import { fill, h } from "../dom.js";
import { count, counted, percent } from "../format.js";
import { bar } from "../parts/bar.js";
import { compareHref, documentName } from "../parts/document_name.js";
import { badge } from "../parts/relation.js";
import { load, notice } from "../parts/states.js";
import { table } from "../parts/table.js";
import { thresholdSlider } from "../parts/threshold.js";

const SAMPLE = 200;
const ROWS = 200;

export function tryThreshold({ signal }, rule) {
  const body = h("div", { class: "stack" });
  const start = () => load(body, signal, () => api.pairs({ threshold: rule.floor, sample: SAMPLE }, signal), (sample) => shownPairs(sample, rule), { label: "Looking up a sample of the documents \u2026" });
  fill(body, h("p", { class: "actions" }, h("button", { type: "button", class: "button primary", onclick: start }, "Look up stored pairs")));
  return h(
    "section",
    { class: "card" },
    h("h2", {}, "Try a threshold"),
    h("p", { class: "soft" }, `Looks up ${count(SAMPLE)} stored documents, evenly among all, and shows which of their pairs a threshold calls alike. Nothing is changed.`),
    body,
  );
}

function shownPairs(sample, rule) {
  const { share } = rule;
  const pairs = [...sample.pairs].sort((a, b) => share(b) - share(a));
  if (pairs.length === 0) return notice({ title: "No pairs", text: `Of ${counted(sample.sampled, "document")} none is like another at ${percent(rule.floor)} or more.` });
  const summary = h("p", { class: "summary" });
  const list = table({
    caption: "Stored pairs",
    rows: pairs.slice(0, ROWS),
    href: (pair) => compareHref(pair.left, pair.right),
    columns: [
      { title: "Document", head: true, wide: true, cell: (pair) => documentName({ document_id: pair.left, title: pair.left_title }, compareHref(pair.left, pair.right)) },
      { title: "Like", wide: true, cell: (pair) => documentName({ document_id: pair.right, title: pair.right_title }) },
      { title: rule.label, number: true, cell: (pair) => h("span", { class: "share" }, bar(share(pair)), h("b", {}, percent(share(pair)))) },
      { title: "Distance", number: true, cell: (pair) => count(pair.distance) },
      { title: "Relation", cell: (pair) => badge(pair.relation) },
    ],
  });
  const own = pairs.filter((pair) => share(pair) >= rule.threshold - 1e-9).length;
  const apply = (threshold) => {
    let left = 0;
    for (const pair of pairs) {
      const passes = share(pair) >= threshold - 1e-9;
      left += passes;
      const element = list.rows.get(pair);
      if (element) element.hidden = !passes;
    }
    const apart = left - own;
    fill(summary, h("strong", {}, counted(left, "pair")), ` alike at ${percent(threshold)}`, apart !== 0 && `, ${count(Math.abs(apart))} ${apart > 0 ? "more" : "fewer"} than under the profile`, ` \u00b7 ${counted(sample.sampled, "document")} of ${count(sample.known)} looked up`);
  };
  const slider = thresholdSlider({ rule, value: rule.threshold, values: pairs.map(share), onChange: apply });
  apply(rule.threshold);
  return [
    slider,
    summary,
    list.element,
    pairs.length > ROWS && h("p", { class: "soft note" }, `The ${count(ROWS)} most alike are listed; all ${count(pairs.length)} are counted.`),
    sample.truncated && h("p", { class: "soft note" }, "A limit of time or pairs ended the sample early."),
  ];
}
