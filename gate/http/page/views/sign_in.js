/* The entry of a token, where the service asks for one. It is kept by this tab until it is closed. */

import { token } from "../api.js";
import { fill, freshId, h } from "../dom.js";
import { notice } from "../parts/states.js";

export const title = "Enter a token";

/* `problem`: why the last token was refused. `done()`: there is another one. */
export function show({ root, problem, done }) {
  const id = freshId("token");
  const input = h("input", { id, type: "password", required: true, autocomplete: "off", spellcheck: "false" });
  const submit = (event) => {
    event.preventDefault();
    token.set(input.value.trim());
    done();
  };
  fill(
    root,
    h(
      "form",
      { class: "card sign-in", onsubmit: submit },
      h("h1", {}, title),
      h("p", { class: "soft" }, "This service shows documents only to those who have a token. An operator makes one with ", h("code", {}, "gate token NAME --scope read"), "."),
      problem && notice({ kind: "error", title: "This token is not accepted", text: problem.message }),
      h("div", { class: "field" }, h("label", { for: id }, "Token"), input, h("p", { class: "hint" }, "Kept in this tab until you close it.")),
      h("button", { type: "submit", class: "button primary" }, "Continue"),
    ),
  );
  input.focus();
}
