/* The profiles: how likely each finds a pair, what it costs, and what another threshold would call alike. */

import { api } from "../api.js";
import { fill, freshId, h } from "../dom.js";
import { bytes, count, NONE, percent, sentence, short } from "../format.js";
import { recallCurve } from "../parts/curve.js";
import { heading } from "../parts/heading.js";
import { decision } from "../parts/in_force.js";
import { load } from "../parts/states.js";
import { tryThreshold } from "./profile_pairs.js";

export const title = "Profiles";
const SIZES = [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
const METHODS = { simhash: "SimHash", minhash: "MinHash", hybrid: "SimHash and MinHash", simindex: "Similarity index" };
const HIDDEN = new Set(["name", "version", "stop_words"]);

export function show(view) {
  const { root, params, signal } = view;
  const body = h("div", { class: "stack" });
  const asked = Number(params.get("documents"));
  const state = { profile: params.get("profile"), documents: SIZES.includes(asked) ? asked : 1_000_000 };
  const id = freshId("documents");
  const size = h("select", { id, onchange: () => redraw({ documents: Number(size.value) }) }, SIZES.map((value) => h("option", { value, selected: value === state.documents }, short(value))));
  const redraw = (next) => {
    Object.assign(state, next);
    view.setParams({ profile: state.profile, documents: state.documents === 1_000_000 ? null : state.documents });
    draw();
  };
  const draw = () => load(body, signal, () => plans(state.documents, signal), (answers) => shown(view, answers, state, redraw));
  fill(root, heading(title, { lead: "How likely a pair is found by how much it resembles, and what that costs.", tools: h("div", { class: "field beside" }, h("label", { for: id }, "Documents in the index"), size) }), body);
  draw();
}

async function plans(documents, signal) {
  const { profiles } = await api.profiles(signal);
  const own = profiles.find((profile) => profile.in_force);
  return Promise.all(profiles.map(async (profile) => ({ profile, plan: await api.plan({ documents, profile: profile === own ? null : profile.parameters.name }, signal) })));
}

function shown(view, answers, state, redraw) {
  const selected = answers.find(({ profile }) => profile.ref === state.profile) ?? answers.find(({ profile }) => profile.in_force);
  const name = freshId("profile");
  const rows = answers.map((answer) => choice(answer, answer === selected, name, () => redraw({ profile: answer.profile.in_force ? null : answer.profile.ref })));
  return [
    h("div", { class: "columns list-detail" }, h("fieldset", { class: "card choices" }, h("legend", {}, "Profiles"), rows), detail(selected)),
    tryThreshold(view, decision(answers.find(({ profile }) => profile.in_force).profile)),
  ];
}

/* Whether the threshold is one of the axis of a recall curve. */
const resembles = (profile) => (profile.parameters.resemblance ?? null) !== null;

/* Where the curve is at the threshold, in words; a curve has points at some resemblances only. */
function atThreshold({ plan, profile }) {
  const { threshold } = decision(profile);
  if (!resembles(profile)) return null;
  const points = plan.recall;
  const next = points.findIndex((point) => point.resemblance >= threshold);
  const [a, b] = [points[Math.max(0, next - 1)], points[next]];
  if (b.resemblance === a.resemblance) return b.found;
  return a.found + ((threshold - a.resemblance) / (b.resemblance - a.resemblance)) * (b.found - a.found);
}

function choice(answer, checked, name, onChange) {
  const { profile, plan } = answer;
  const { threshold } = decision(profile);
  return h(
    "label",
    { class: "choice" },
    h("input", { type: "radio", name, checked, onchange: onChange }),
    h("span", { class: "choice-name" }, profile.parameters.name, profile.in_force && h("span", { class: "tag" }, "in force"), h("small", {}, METHODS[profile.parameters.method] ?? sentence(profile.parameters.method))),
    recallCurve(plan.recall, { threshold: resembles(profile) ? threshold : null, small: true, label: `Recall curve of ${profile.parameters.name}` }),
  );
}

function detail(answer) {
  const { profile, plan } = answer;
  const { label, threshold } = decision(profile);
  const found = atThreshold(answer);
  const total = Object.values(plan.bytes_per_document).reduce((sum, value) => sum + value, 0);
  const at80 = plan.recall.find((point) => point.resemblance === 0.8)?.found;
  return h(
    "section",
    { class: "card" },
    h("h2", {}, profile.ref),
    recallCurve(plan.recall, { threshold: resembles(profile) ? threshold : null, label: `Recall of ${profile.ref}: of pairs that resemble to 80 %, ${percent(at80)} are found` }),
    h(
      "dl",
      { class: "facts wide" },
      fact("Decides by", `${label} of at least ${percent(threshold)}`),
      fact("Found at the threshold", found === null ? NONE : percent(found)),
      fact("Found for certain", plan.radius === null ? NONE : `within ${plan.radius} of 64 bits`),
      fact("Buckets read for a look-up", count(plan.probes)),
      fact("Unrelated documents compared", plan.expected_candidates < 0.01 ? "fewer than 1 in 100 look-ups" : `${short(Number(plan.expected_candidates.toPrecision(3)))} a look-up`),
      fact("Size of a document", bytes(total)),
      fact("Size of the index", bytes(plan.total_bytes)),
    ),
    h("details", { open: true }, h("summary", {}, "All parameters"), h("dl", { class: "facts wide" }, Object.entries(profile.parameters).filter(([name]) => !HIDDEN.has(name)).map(([name, value]) => fact(sentence(name), value === null ? NONE : typeof value === "boolean" ? (value ? "yes" : "no") : String(value))))),
  );
}

const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
