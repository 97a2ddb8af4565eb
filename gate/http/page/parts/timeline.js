/* When the members of a family were checked in, on one line; the original is the ring. */

import { h, s } from "../dom.js";
import { day, moment } from "../format.js";

const WIDTH = 800;
const PAD = 14;

export function timeline(members, original) {
  const dated = members.filter((member) => member.checked_in_at).map((member) => ({ ...member, at: new Date(member.checked_in_at).getTime() }));
  if (dated.length < 2) return null;
  const first = Math.min(...dated.map((member) => member.at));
  const last = Math.max(...dated.map((member) => member.at));
  const x = (at) => (last === first ? WIDTH / 2 : PAD + ((at - first) / (last - first)) * (WIDTH - 2 * PAD));
  const ends = last - first > 86_400_000 * 2 ? day : moment;
  return h(
    "figure",
    { class: "timeline" },
    s(
      "svg",
      { viewBox: `0 0 ${WIDTH} 28`, role: "img", "aria-label": `${dated.length} members checked in from ${moment(new Date(first))} to ${moment(new Date(last))}` },
      s("line", { class: "base", x1: PAD, x2: WIDTH - PAD, y1: 14, y2: 14 }),
      dated.map((member) => s("circle", { class: `${member.document_id === original ? "first" : ""} r-${member.relation}`, cx: x(member.at), cy: 14, r: member.document_id === original ? 7 : 5 }, s("title", {}, `${member.document_id}, ${moment(member.checked_in_at)}`))),
    ),
    h("div", { class: "timeline-ends" }, h("span", {}, ends(new Date(first))), h("span", {}, ends(new Date(last)))),
  );
}
