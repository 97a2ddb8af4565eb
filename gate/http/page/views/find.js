/* Find what is like a document, a text, a file or a fingerprint, and how much alike. */

import { api } from "../api.js";
import { announce, fill, freshId, h } from "../dom.js";
import { counted, percent } from "../format.js";
import { documentField } from "../parts/combobox.js";
import { familyHref } from "../parts/document_name.js";
import { fileDrop } from "../parts/file_drop.js";
import { heading } from "../parts/heading.js";
import { byBits, profileInForce } from "../parts/in_force.js";
import { segments } from "../parts/segments.js";
import { failed, load, notice } from "../parts/states.js";
import { supplied, supply } from "../parts/supplied.js";
import { thresholdSlider } from "../parts/threshold.js";
import { resultTable } from "./find_results.js";

export const title = "Find similar";
const MOST = 1000; // results: the service gives no more
const KINDS = [
  { value: "id", label: "Document" },
  { value: "text", label: "Text" },
  { value: "file", label: "File" },
  { value: "fingerprint", label: "Fingerprint" },
];

export function show(view) {
  const { root, params, session, signal } = view;
  const query = queryOf(params);
  const form = h("div", { class: "ask-form" });
  const results = h("div", { class: "stack" });
  const ask = (next) => {
    view.setParams({ ...next, text: next.text });
    search(view, results, next);
  };
  const choose = (kind) => fill(form, FORMS[kind]({ query, session, signal, ask, results }));
  const kind = query.kind ?? "id";
  fill(
    root,
    heading(title, { lead: "What the index holds that is like one document. Nothing is checked in." }),
    h("section", { class: "card ask" }, segments("What to look for", KINDS, kind, choose), form),
    results,
  );
  choose(kind);
  if (query.kind) search(view, results, query);
  else fill(results, notice({ title: "Choose what to look for", text: "Begin with the id or the title of a document, paste a text, drop a file, or give the fingerprint of a verdict." }));
}

function queryOf(params) {
  const kind = ["id", "text", "fingerprint"].find((name) => params.get(name));
  return { kind, ...Object.fromEntries(params) };
}

const FORMS = {
  id({ query, signal, ask }) {
    const field = documentField({ label: "Document", value: query.id ?? "", signal, onChoose: (id) => ask({ id }) });
    return formOf([field.element], () => field.input.value.trim() && ask({ id: field.input.value.trim() }), field.input, "inline");
  },
  text({ query, ask }) {
    const id = freshId("text");
    const area = h("textarea", { id, rows: 6, placeholder: "Paste a text" }, supplied(query.text)?.text ?? "");
    return formOf([h("div", { class: "field" }, h("label", { for: id }, "Text"), area)], () => area.value.trim() && ask({ text: supply(area.value) }), area);
  },
  file({ session, signal, ask, results }) {
    return fileDrop({
      label: "Drop a file here, or choose one",
      session,
      signal,
      onRead: (text, name) => ask({ text: supply(text, { name }) }),
      onProblem: (problem) => fill(results, failed(problem)),
    });
  },
  fingerprint({ query, ask }) {
    const id = freshId("fingerprint");
    const input = h("input", { id, type: "text", class: "mono", value: query.fingerprint ?? "", placeholder: "33fc4beae24021d5", pattern: "\\s*[0-9a-fA-F]{16}\\s*", title: "16 hexadecimal digits", spellcheck: "false", autocomplete: "off", required: true, maxlength: 40 });
    return formOf([h("div", { class: "field" }, h("label", { for: id }, "Fingerprint"), input, h("p", { class: "hint" }, "16 hexadecimal digits, as a verdict shows them."))], () => ask({ fingerprint: input.value.trim().toLowerCase() }), input);
  },
};

function formOf(fields, submit, required, kind = null) {
  required.required = true;
  return h(
    "form",
    {
      class: kind,
      onsubmit: (event) => {
        event.preventDefault();
        submit();
      },
    },
    fields,
    h("button", { type: "submit", class: "button primary" }, "Find similar"),
  );
}

function search(view, results, query) {
  const { signal } = view;
  const text = query.text ? supplied(query.text) : null;
  if (query.text && text === null) {
    fill(results, notice({ title: "The text is no longer here", text: "A text that you give stays in this tab, and is forgotten when the page is loaded anew. Paste it again." }));
    return;
  }
  load(
    results,
    signal,
    async () => {
      const profile = await profileInForce(signal);
      const rule = query.fingerprint ? byBits(profile) : profile;
      const [found, family] = await Promise.all([askFor(query, text, rule, signal), familyOf(query, profile, signal)]);
      return { rule, found, family };
    },
    ({ rule, found, family }) => shownResults(view, query, text, rule, found, family),
    { label: "Looking \u2026" },
  );
}

/* With the lowest threshold of the slider, so that it needs no other answer. */
function askFor(query, text, { floor }, signal) {
  const how = { threshold: floor, limit: MOST };
  if (text) return api.similarToText({ text: text.text, ...how }, signal);
  if (query.fingerprint) return api.similarToFingerprint({ fingerprint: query.fingerprint, ...how }, signal);
  return api.similarToDocument(query.id, how, signal);
}

/* A profile may keep originals only in its index: copies of them are not looked up, but are known in their family. */
async function familyOf(query, profile, signal) {
  if (!query.id || profile.parameters.index !== "originals") return null;
  return api.group(query.id, { limit: 1 }, signal);
}

function familyNote(query, family) {
  if (!family || family.total < 2) return null;
  return h("p", { class: "note soft" }, `The index of this profile holds originals only. ${counted(family.total - 1, "other document")} in the family of this one: `, h("a", { href: familyHref(query.id) }, "show the family"), ".");
}

function shownResults(view, query, text, rule, found, family) {
  const what = text ? (text.name ?? "the text") : query.fingerprint ? `fingerprint ${query.fingerprint}` : query.id;
  if (found.matches.length === 0) {
    const members = family ? family.total - 1 : 0;
    return notice({
      title: members ? `No other original is like ${what}` : `Nothing is like ${what}`,
      text: members ? `The index of this profile holds originals only. ${counted(members, "other document")} in the family of this one.` : `The index brings together nothing with it at ${percent(rule.floor)} or more.`,
      actions: members ? [h("a", { class: "button", href: familyHref(query.id) }, "Show the family")] : [],
    });
  }
  const { share } = rule;
  const start = Math.max(rule.floor, Math.min(1, Number(query.t) || rule.threshold));
  const summary = h("p", { class: "summary" });
  const none = h("div");
  const list = resultTable(found, { query, share });
  let timer = null;
  const apply = (threshold) => {
    let left = 0;
    for (const [row, element] of list.rows) {
      const passes = share(row) >= threshold - 1e-9;
      element.hidden = !passes;
      left += passes;
    }
    list.element.hidden = left === 0;
    fill(none, left === 0 && notice({ title: `Nothing at ${percent(threshold)} or more`, text: `The most alike has ${percent(Math.max(...found.matches.map(share)))}. Move the slider to the left.` }));
    fill(summary, h("strong", {}, counted(left, "document")), ` like ${what}, of ${counted(found.matches.length, "document")} at ${percent(rule.floor)} or more`);
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (view.signal.aborted) return;
      view.setParams({ ...keep(query), t: threshold === rule.threshold ? null : threshold });
      announce(summary.textContent);
    }, 300);
  };
  const slider = thresholdSlider({ rule, value: start, values: found.matches.map(share), onChange: apply });
  apply(start);
  return [
    h("section", { class: "card" }, slider),
    h("section", { class: "card flush" }, summary, list.element, none),
    familyNote(query, family),
    found.matches.length === MOST && h("p", { class: "soft note" }, `Only the ${MOST} most alike are listed.`),
  ];
}

const keep = ({ id, text, fingerprint }) => ({ id, text, fingerprint });
