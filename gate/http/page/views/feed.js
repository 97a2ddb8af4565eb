/* The verdicts as they are given, newest first, with filters. */

import { api } from "../api.js";
import { fill, freshId, h } from "../dom.js";
import { clock, count, duration, moment, NONE, percent, words } from "../format.js";
import { compareHref, documentName, familyHref, plain } from "../parts/document_name.js";
import { heading } from "../parts/heading.js";
import { reasonsOf } from "../parts/reasons.js";
import { badge, RELATIONS } from "../parts/relation.js";
import { failed, loading, notice, repeat, report } from "../parts/states.js";
import { opener, table, tableRow } from "../parts/table.js";

export const title = "Verdicts";
const SECONDS = 2;
const PAGE = 100;
const MOST = 1000; // rows that stay on the page
const FILTERS = ["relation", "source", "profile", "degraded"];

export function show(view) {
  const { root, params, signal, session } = view;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, params.get(name) ?? ""]));
  const feed = feedTable(signal, session);
  const body = h("div", { class: "stack" }, loading());
  const pause = h("button", { type: "button", class: "button", "aria-pressed": "false", onclick: toggle }, "Pause");
  let paused = false;

  function toggle() {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Go on" : "Pause";
    if (!paused) turn();
  }
  const ask = (more) => api.feed({ ...filters, limit: PAGE, ...more }, signal);
  const turn = async () => {
    if (paused) return;
    const asked = JSON.stringify(filters);
    try {
      const page = await ask();
      if (signal.aborted || paused || asked !== JSON.stringify(filters)) return;
      bar.update(page);
      feed.add(page);
      if (!feed.element.isConnected || feed.isEmpty()) fill(body, feed.isEmpty() ? nothing(filters) : feed.element);
    } catch (error) {
      if (signal.aborted || report(error)) return;
      fill(body, failed(error, turn));
    }
  };
  const bar = filterBar(filters, (name, value) => {
    filters[name] = value;
    view.setParams(filters);
    feed.clear();
    fill(body, loading());
    turn();
  });
  feed.onOlder(async (before) => feed.add(await ask({ before }), { older: true }));
  const more = session.processes > 1 ? ` One of ${session.processes} processes answers each time; each keeps its own verdicts.` : "";
  fill(root, heading(title, { lead: `The latest verdicts of this service, newest first.${more}`, tools: pause }), h("section", { class: "card filters" }, bar.element), body);
  repeat(signal, SECONDS, turn);
}

function nothing(filters) {
  if (FILTERS.some((name) => filters[name])) return notice({ title: "No verdict fits these filters", text: "Choose fewer filters, or wait: new verdicts show up by themselves." });
  return notice({ title: "No verdicts yet", text: "Check a document in, and its verdict shows up here within two seconds." });
}

function filterBar(filters, onChange) {
  const choice = (name, label, options) => {
    const id = freshId("filter");
    const select = h("select", { id, onchange: () => onChange(name, select.value) });
    const offer = (values) => fill(select, h("option", { value: "" }, "All"), values.map(([value, text]) => h("option", { value, selected: value === filters[name] }, text)));
    offer(options);
    return { element: h("div", { class: "field" }, h("label", { for: id }, label), select), offer, known: options.length };
  };
  const asOptions = (values, name) => [...new Set([...values, ...(filters[name] ? [filters[name]] : [])])].map((value) => [value, plain(value)]);
  const relation = choice("relation", "Relation", RELATIONS.map((name) => [name, words(name)]));
  const source = choice("source", "Source", asOptions([], "source"));
  const profile = choice("profile", "Profile", asOptions([], "profile"));
  const degraded = choice("degraded", "Limits", [["true", "A limit was hit"], ["false", "No limit was hit"]]);
  return {
    element: [relation, source, profile, degraded].map((one) => one.element),
    update(page) {
      for (const [one, name] of [[source, "source"], [profile, "profile"]]) {
        const values = asOptions(page[`${name}s`], name);
        if (one.known !== values.length && !one.element.contains(document.activeElement)) one.offer(values);
        one.known = one.element.contains(document.activeElement) ? one.known : values.length;
      }
    },
  };
}

/* Rows by process and number, so that an answer may repeat what is there. */
function feedTable(signal, session) {
  const columns = [
    { title: "Time", cell: (row) => h("time", { datetime: row.judged_at, title: moment(row.judged_at), class: "nowrap" }, clock(row.judged_at)) },
    { title: "Document", head: true, wide: true, cell: ({ verdict }) => documentName(verdict, familyHref(verdict.document_id)) },
    { title: "Relation", cell: ({ verdict }) => [badge(verdict.relation), verdict.degraded.length > 0 && h("span", { class: "tag warn", title: verdict.degraded.map(words).join(", ") }, "limit hit")] },
    { title: "Like", wide: true, cell: ({ verdict }) => (verdict.matches.length ? documentName(verdict.matches[0], compareHref(verdict.document_id, verdict.matches[0].document_id)) : NONE) },
    { title: "Resemblance", number: true, cell: ({ verdict }) => percent(verdict.matches[0]?.resemblance) },
    { title: "Distance", number: true, cell: ({ verdict }) => count(verdict.matches[0]?.distance) },
    { title: "Source", cell: ({ verdict }) => (verdict.source ? plain(verdict.source) : NONE) },
    { title: "Took", number: true, cell: (row) => duration(row.seconds) },
    { title: "Why", unseen: true, cell: ({ verdict }) => opener("Why", `this verdict on ${plain(verdict.document_id)}`, () => reasonsOf(verdict, signal)) },
  ];
  const { element: box, body } = table({ caption: "Verdicts", columns, rows: [] });
  const older = h("button", { type: "button", class: "button" }, "Show older verdicts");
  const end = h("div", { class: "pager" }, older);
  const element = h("section", { class: "card flush" }, box, end);
  let seen = new Set();
  let lowest = Infinity;
  return {
    element,
    isEmpty: () => seen.size === 0,
    clear() {
      seen = new Set();
      lowest = Infinity;
      fill(body);
    },
    add(page, { older: below = false } = {}) {
      const fresh = page.verdicts.filter((row) => !seen.has(`${page.process}:${row.seq}`));
      for (const row of fresh) {
        seen.add(`${page.process}:${row.seq}`);
        lowest = Math.min(lowest, row.seq);
      }
      const rows = fresh.map((row) => tableRow(columns, row));
      if (below) body.append(...rows);
      else body.prepend(...rows);
      while (!below && body.children.length > MOST) body.lastChild.remove();
      end.hidden = session.processes > 1 || lowest <= page.oldest || (below && fresh.length < PAGE) || seen.size < PAGE || body.children.length >= MOST;
    },
    onOlder(ask) {
      older.addEventListener("click", async () => {
        older.disabled = true;
        try {
          await ask(lowest);
        } catch (error) {
          if (!signal.aborted && !report(error)) fill(end, failed(error));
        } finally {
          older.disabled = false;
        }
      });
    },
  };
}
