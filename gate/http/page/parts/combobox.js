/* A field for the id of a document that suggests known ones while one types, by id or title. */

import { api } from "../api.js";
import { fill, freshId, h } from "../dom.js";
import { documentName } from "./document_name.js";
import { badge } from "./relation.js";
import { report } from "./states.js";

const PAUSE = 130; // ms after the last key
const SUGGESTIONS = 8;

/* `onChoose(id)`: a suggestion was taken. Returns {element, input}. */
export function documentField({ label, value = "", signal, onChoose = () => {}, hint = null }) {
  const list = freshId("suggestions");
  const state = { rows: [], active: -1, timer: null, asked: 0 };
  const input = h("input", {
    type: "text", value, id: freshId("document"), role: "combobox", autocomplete: "off", spellcheck: "false", autocapitalize: "off",
    "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list, placeholder: "Id or title",
  });
  const box = h("ul", { id: list, role: "listbox", class: "suggestions", "aria-label": "Suggestions", hidden: true });

  const close = () => {
    box.hidden = true;
    state.active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const take = (row) => {
    input.value = row.document_id;
    close();
    onChoose(row.document_id);
  };
  const mark = (place) => {
    state.active = (place + state.rows.length) % state.rows.length;
    [...box.children].forEach((option, at) => option.setAttribute("aria-selected", String(at === state.active)));
    input.setAttribute("aria-activedescendant", box.children[state.active].id);
    box.children[state.active].scrollIntoView({ block: "nearest" });
  };
  const suggest = async () => {
    const asked = ++state.asked;
    try {
      const page = await api.documents({ q: input.value.trim(), limit: SUGGESTIONS }, signal);
      if (asked !== state.asked || document.activeElement !== input) return;
      state.rows = page.documents;
      fill(box, state.rows.map((row) => h("li", { role: "option", id: freshId("option"), "aria-selected": "false", onpointerdown: (event) => event.preventDefault(), onclick: () => take(row) }, documentName(row), badge(row.relation))));
      state.active = -1;
      box.hidden = state.rows.length === 0;
      input.setAttribute("aria-expanded", String(!box.hidden));
    } catch (error) {
      if (!signal.aborted && !report(error)) close(); // the field works without suggestions
    }
  };

  input.addEventListener("input", () => {
    clearTimeout(state.timer);
    state.timer = setTimeout(suggest, PAUSE);
  });
  input.addEventListener("focus", () => suggest());
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !box.hidden) {
      event.preventDefault();
      close();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && state.rows.length > 0) {
      event.preventDefault();
      box.hidden = false;
      input.setAttribute("aria-expanded", "true");
      mark(event.key === "ArrowDown" ? state.active + 1 : state.active < 0 ? -1 : state.active - 1);
    } else if (event.key === "Enter" && !box.hidden && state.active >= 0) {
      event.preventDefault();
      take(state.rows[state.active]);
    }
  });
  return { element: h("div", { class: "field combo" }, h("label", { for: input.id }, label), h("div", { class: "combo-box" }, input, box), hint && h("p", { class: "hint" }, hint)), input };
}
