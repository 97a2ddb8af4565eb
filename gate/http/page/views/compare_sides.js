/* One side of a comparison: a document by its id, a text, or a fingerprint; and what it is, once it is chosen. */

import { freshId, h } from "../dom.js";
import { counted } from "../format.js";
import { documentField } from "../parts/combobox.js";
import { plain } from "../parts/document_name.js";
import { fileDrop } from "../parts/file_drop.js";
import { segments } from "../parts/segments.js";
import { fill } from "../dom.js";
import { notice } from "../parts/states.js";
import { supplied, supply } from "../parts/supplied.js";

const NAMES = { left: "Left", right: "Right" };
const KINDS = [
  { value: "id", label: "Document" },
  { value: "text", label: "Text" },
];

/* `change(query)`: what the URL says of the side from now on. */
export function sideForm(view, side, query, change) {
  const text = supplied(query[`${side}_text`]);
  const print = query[`${side}_fingerprint`];
  const put = (values) => change({ [side]: undefined, [`${side}_text`]: undefined, [`${side}_fingerprint`]: undefined, ...values });
  const clear = () => put({});
  if (query[side] || text || print) return chosen(side, { id: query[side], text, print }, clear);
  return chooser(view, side, put);
}

function chosen(side, { id, text, print }, clear) {
  const what = id ? plain(id) : text ? plain(text.name ?? "A text that you gave") : print;
  const note = text ? `${counted(text.text.length, "character")}, in this tab only` : id ? "Checked in" : "Fingerprint";
  return h(
    "section",
    { class: `card side ${side}`, "aria-label": `${NAMES[side]} side` },
    h("div", { class: "side-row" },
      h("div", {}, h("h2", {}, NAMES[side]), h("p", { class: print ? "side-what mono" : "side-what" }, what), h("p", { class: "soft note" }, note)),
      h("button", { type: "button", class: "button", "aria-label": `Change the ${side} side`, onclick: clear }, "Change"),
    ),
  );
}

function chooser(view, side, put) {
  const inside = h("div");
  const forms = {
    id: () => {
      const field = documentField({ label: `${NAMES[side]} document`, signal: view.signal, onChoose: (id) => put({ [side]: id }) });
      const submit = (event) => {
        event.preventDefault();
        if (field.input.value.trim()) put({ [side]: field.input.value.trim() });
      };
      return h("form", { class: "inline", onsubmit: submit }, field.element, h("button", { type: "submit", class: "button" }, "Take"));
    },
    text: () => textForm(view, side, (key) => put({ [`${side}_text`]: key })),
  };
  const choose = (kind) => fill(inside, forms[kind]());
  choose("id");
  return h("section", { class: `card side ${side}`, "aria-label": `${NAMES[side]} side` }, h("h2", {}, NAMES[side]), segments(`${NAMES[side]} side is`, KINDS, "id", choose), inside);
}

/* A text pasted or dropped. `take(key)`: its number. */
export function textForm({ session, signal }, side, take) {
  const id = freshId("text");
  const area = h("textarea", { id, rows: 4, required: true });
  const problem = h("div");
  const submit = (event) => {
    event.preventDefault();
    if (area.value.trim()) take(supply(area.value));
  };
  return h(
    "form",
    { class: "text-form", onsubmit: submit },
    h("div", { class: "field" }, h("label", { for: id }, `${NAMES[side]} text`), area),
    h("div", { class: "actions" }, h("button", { type: "submit", class: "button" }, "Take")),
    fileDrop({
      label: "Or drop a file",
      session,
      signal,
      onRead: (text, name) => take(supply(text, { name })),
      onProblem: (error) => fill(problem, notice({ kind: "error", title: error.title || "The file was not read", text: error.message })),
    }),
    problem,
  );
}
