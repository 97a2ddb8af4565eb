/* When the members of a family were checked in, on one line; the original is the ring. */

import { h } from "../dom.js";
import { day, moment } from "../format.js";

const DAYS = 2 * 86_400_000;

export function timeline(members, original) {
  const dated = members.filter((member) => member.checked_in_at).map((member) => ({ ...member, at: new Date(member.checked_in_at).getTime() }));
  if (dated.length < 2) return null;
  const first = Math.min(...dated.map((member) => member.at));
  const last = Math.max(...dated.map((member) => member.at));
  const label = `${dated.length} members checked in from ${moment(new Date(first))} to ${moment(new Date(last))}`;
  if (last - first < 1000) return h("p", { class: "soft" }, `All checked in on ${moment(new Date(first))}.`);
  const ends = last - first > DAYS ? day : moment;
  return h(
    "figure",
    { class: "timeline" },
    h(
      "div",
      { class: "timeline-line", role: "img", "aria-label": label },
      dated.map((member) =>
        h("i", { class: `r-${member.relation}${member.document_id === original ? " first" : ""}`, title: `${member.document_id}, ${moment(member.checked_in_at)}`, vars: { "--at": `${(100 * (member.at - first)) / (last - first)}%` } }),
      ),
    ),
    h("div", { class: "timeline-ends" }, h("span", {}, ends(new Date(first))), h("span", {}, ends(new Date(last)))),
  );
}
