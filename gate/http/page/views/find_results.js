/* The table of what is similar: each row opens its comparison. */

import { h } from "../dom.js";
import { count, percent } from "../format.js";
import { bar } from "../parts/bar.js";
import { documentName, plain } from "../parts/document_name.js";
import { badge } from "../parts/relation.js";
import { table } from "../parts/table.js";

export function resultTable(found, { query, share }) {
  const href = (row) => `#/compare?${new URLSearchParams({ ...left(query), right: row.document_id })}`;
  const measured = { key: share, cell: (row) => h("span", { class: "share" }, bar(share(row)), h("b", {}, percent(share(row)))) };
  return table({
    caption: "Similar documents",
    rows: found.matches,
    href,
    sorted: "Similarity",
    columns: [
      { title: "Document", head: true, wide: true, key: (row) => row.title ?? row.document_id, cell: (row) => documentName(row, href(row)) },
      { title: "Similarity", number: true, ...measured },
      { title: "Relation", cell: (row) => badge(row.relation) },
      { title: "Resemblance", number: true, key: (row) => row.resemblance, cell: (row) => percent(row.resemblance) },
      { title: "Bit agreement", number: true, key: (row) => row.bit_agreement, cell: (row) => percent(row.bit_agreement) },
      { title: "Distance", number: true, key: (row) => row.distance, cell: (row) => count(row.distance) },
      { title: "Fingerprint", mono: true, cell: (row) => row.fingerprint ?? "\u2013" },
      { title: "Path", cell: (row) => h("span", { class: "path" }, row.uri ? plain(row.uri) : "\u2013") },
    ],
  });
}

/* What was looked for, as the left side of a comparison. */
function left({ id, text, fingerprint }) {
  if (text) return { left_text: text };
  if (fingerprint) return { left_fingerprint: fingerprint };
  return { left: id };
}
