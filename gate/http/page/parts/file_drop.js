/* A place to drop a file, or to choose one: its text is read here where it is plain, and by the service elsewise. */

import { api, Problem } from "../api.js";
import { h } from "../dom.js";
import { icon } from "./icon.js";

/* `onRead(text, name)`, `onProblem(problem)`. */
export function fileDrop({ label, session, signal, onRead, onProblem }) {
  const input = h("input", { type: "file", class: "unseen", "aria-label": label });
  const element = h(
    "label",
    { class: "drop" },
    input,
    icon("file"),
    h("span", {}, h("strong", {}, label), h("span", { class: "soft" }, session.files ? "Texts, PDF, Word, OpenDocument, EPUB, HTML, mail and others" : "Plain texts in UTF-8")),
  );
  const read = async (file) => {
    element.classList.add("busy");
    try {
      const text = await textOf(file, session, signal);
      if (!signal.aborted) onRead(text, file.name);
    } catch (error) {
      if (!signal.aborted) onProblem(error);
    } finally {
      element.classList.remove("busy");
      input.value = "";
    }
  };
  input.addEventListener("change", () => input.files[0] && read(input.files[0]));
  for (const kind of ["dragenter", "dragover"]) {
    element.addEventListener(kind, (event) => {
      event.preventDefault();
      element.classList.add("over");
    });
  }
  for (const kind of ["dragleave", "drop"]) element.addEventListener(kind, () => element.classList.remove("over"));
  element.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files[0]) read(event.dataTransfer.files[0]);
  });
  // A file that misses the place must not replace the page.
  for (const kind of ["dragover", "drop"]) window.addEventListener(kind, (event) => event.preventDefault(), { signal });
  return element;
}

async function textOf(file, session, signal) {
  if (file.size > session.max_body_bytes) {
    throw new Problem({ title: "The file is too large", detail: `${file.name} is larger than the service takes (api_max_body_bytes).` });
  }
  const bytes = await file.arrayBuffer();
  const text = plainText(bytes);
  if (text !== null && !/\.(html?|xml|xhtml|rtf|eml)$/i.test(file.name)) return text;
  if (session.files) return api.textOfFile(file, signal);
  if (text !== null) return text;
  throw new Problem({ title: "The file is no plain text", detail: `${file.name} is not a text in UTF-8, and this service reads no other files.` });
}

/* null: the bytes are no text in UTF-8. */
function plainText(bytes) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\u0000") ? null : text;
  } catch {
    return null;
  }
}
