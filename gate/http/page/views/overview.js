/* What the gate does: how many documents come, how many match, how fast, and what is in the index. Live. */

import { api } from "../api.js";
import { fill, h } from "../dom.js";
import { bytes, count, counted, duration, moment, NONE, percent, rate, short, words } from "../format.js";
import { timeChart } from "../parts/chart.js";
import { heading } from "../parts/heading.js";
import { documentName, familyHref } from "../parts/document_name.js";
import { segments } from "../parts/segments.js";
import { failed, loading, notice, repeat, report } from "../parts/states.js";
import { table } from "../parts/table.js";
import { windowOf } from "./overview_window.js";

export const title = "Overview";
const SECONDS = 2; // between two answers
const WINDOWS = [5, 15, 60];

export function show({ root, params, signal, session, setParams }) {
  let minutes = WINDOWS.includes(Number(params.get("minutes"))) ? Number(params.get("minutes")) : 15;
  const state = h("span", { class: "pill" });
  const body = h("div", { class: "stack" }, loading());
  const parts = makeParts();
  let empty = null;

  const turn = async () => {
    try {
      const overview = await api.overview(minutes, signal);
      if (signal.aborted) return;
      fill(state, h("i", { class: "dot", "aria-hidden": "true" }), overview.ready ? "Ready" : "Not ready");
      state.className = `pill ${overview.ready ? "good" : "bad"}`;
      const nothing = overview.totals.verdicts === 0 && !overview.index_counts?.documents;
      if (nothing !== empty) fill(body, nothing ? nothingYet() : parts.elements);
      empty = nothing;
      parts.update(overview, minutes, session);
    } catch (error) {
      if (signal.aborted || report(error)) return;
      empty = null;
      state.className = "pill bad";
      fill(state, h("i", { class: "dot", "aria-hidden": "true" }), "No answer");
      fill(body, failed(error, turn));
    }
  };
  const choose = segments("Time shown", WINDOWS.map((one) => ({ value: one, label: `${one} min` })), minutes, (value) => {
    minutes = value;
    setParams({ minutes });
    turn();
  });
  fill(root, heading(title, { beside: state, tools: choose }), body);
  repeat(signal, SECONDS, turn);
}

function nothingYet() {
  const example = `curl -s ${new URL("v1/check-ins", document.baseURI.split("#")[0])} \\\n  -H 'Content-Type: application/json' \\\n  -d '{"document_id": "hello", "text": "The ferry to the islands leaves at nine and returns before dark."}'`;
  return [
    notice({ title: "Nothing has been checked in yet", text: "Send a document to the service: its verdict shows up here within two seconds." }),
    h("pre", { class: "code", tabindex: "0" }, example),
  ];
}

function makeParts() {
  const cards = h("dl", { class: "cards" });
  const verdicts = timeChart({ label: "Verdicts by relation over time", unit: short });
  const latency = timeChart({ label: "Latency of verdicts over time", lines: true, unit: duration });
  const families = h("div", { class: "spaced" });
  const index = h("div", { class: "spaced index" });
  const outages = h("div");
  const unready = h("div");
  return {
    elements: [
      unready,
      cards,
      h("div", { class: "columns" }, card("Verdicts", verdicts.element), card("Latency", latency.element)),
      h("div", { class: "columns" }, card("Largest families", families), h("div", { class: "stack" }, card("Index", index), card("Outages", outages))),
    ],
    update(overview, minutes, session) {
      const shown = windowOf(overview, minutes);
      fill(unready, !overview.ready && notice({ kind: "error", title: "The service cannot judge documents now", text: Object.entries(overview.reasons).map(([part, why]) => `${part}: ${why}`).join("; ") }));
      fill(cards, cardRows(overview, shown, minutes, session));
      verdicts.update(shown.verdicts, `${counted(overview.window.verdicts, "verdict")} in ${minutes} minutes`);
      latency.update(shown.latency, `Half of the verdicts took up to ${duration(overview.window.p50_seconds)}, 99 of 100 up to ${duration(overview.window.p99_seconds)}`);
      fill(families, familiesOf(overview));
      fill(index, indexOf(overview));
      fill(outages, outagesOf(overview));
    },
  };
}

const card = (name, ...inside) => h("section", { class: "card" }, h("h2", {}, name), inside);

function cardRows(overview, shown, minutes, session) {
  const { window: lately, totals } = overview;
  const more = session.processes > 1 ? `, of one of ${session.processes} processes` : "";
  return [
    figure("Check-ins per second", rate(shown.rate), `${count(lately.verdicts)} in ${minutes} min${more}`),
    figure("Match rate", lately.verdicts ? percent(lately.similar / lately.verdicts) : NONE, `${count(lately.similar)} did not pass`),
    figure("Latency, median", duration(lately.p50_seconds), [h("span", { class: "nowrap" }, `95 %: ${duration(lately.p95_seconds)}`), " \u00b7 ", h("span", { class: "nowrap" }, `99 %: ${duration(lately.p99_seconds)}`)]),
    figure("Documents", short(overview.index_counts?.documents), totals.verdicts ? `${count(totals.verdicts)} verdicts since the start` : `up for ${duration((new Date(overview.at) - new Date(overview.started_at)) / 1000)}`),
    figure("Degraded or refused", short(lately.degraded + lately.refused), lately.degraded ? h("a", { href: "#/feed?degraded=true" }, `${counted(lately.degraded, "verdict")} hit a limit`) : lately.refused ? `${count(lately.refused)} refused` : "no limit was hit"),
  ];
}

const figure = (name, value, note) => h("div", {}, h("dt", {}, name), h("dd", {}, value, h("small", {}, note)));

function familiesOf(overview) {
  if (overview.families.length === 0) return notice({ title: "No families yet", text: "A family is an original and the documents that are like it." });
  const most = Math.max(...overview.families.map((family) => family.members));
  return [
    table({
      caption: "Largest families",
      rows: overview.families,
      href: (family) => familyHref(family.group),
      columns: [
        { title: "Original", head: true, wide: true, cell: (family) => documentName({ document_id: family.group, title: family.title }, familyHref(family.group)) },
        { title: "Members", number: true, cell: (family) => count(family.members) },
        { title: "Share of the largest", unseen: true, cell: (family) => h("span", { class: "meter", vars: { "--share": `${(100 * family.members) / most}%` } }) },
      ],
    }).element,
    !overview.families_complete && h("p", { class: "soft note" }, "Counted among the documents that were listed so far."),
  ];
}

function indexOf({ index_counts: counts, index_age_seconds: age }) {
  if (!counts) return loading("Counting the index \u2026");
  const sizes = Object.entries(counts).filter(([name, value]) => name.startsWith("bytes_") && value > 0).sort((a, b) => b[1] - a[1]);
  const total = sizes.reduce((sum, [, value]) => sum + value, 0);
  const numbers = Object.entries(counts).filter(([name]) => !name.startsWith("bytes_"));
  return [
    total > 0 && h("div", { class: "parts", role: "img", "aria-label": sizes.map(([name, value]) => `${words(name.slice(6))} ${bytes(value)}`).join(", ") }, sizes.map(([, value], place) => h("span", { class: `part-${Math.min(place, 5)}`, vars: { "--share": String(value / total) } }))),
    h(
      "dl",
      { class: "facts" },
      total > 0 && fact("size", bytes(total)),
      numbers.map(([name, value]) => fact(words(name), count(value))),
      sizes.map(([name, value], place) => fact([h("i", { class: `dot part-${Math.min(place, 5)}`, "aria-hidden": "true" }), words(name.slice(6))], bytes(value))),
    ),
    age > 60 && h("p", { class: "soft note" }, `Counted ${duration(age)} ago.`),
  ];
}

const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));

function outagesOf({ outages }) {
  if (outages.length === 0) return h("p", { class: "soft" }, "None since the service started.");
  return h(
    "ol",
    { class: "events" },
    outages.map((outage) =>
      h(
        "li",
        { class: outage.ended_at ? null : "bad" },
        h("strong", {}, outage.dependency),
        ` ${outage.reason}`,
        h("span", { class: "soft" }, `${moment(outage.began_at)}, ${outage.ended_at ? `for ${duration((new Date(outage.ended_at) - new Date(outage.began_at)) / 1000)}` : "lasting"}`),
      ),
    ),
  );
}
