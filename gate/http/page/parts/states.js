/* What a view shows instead of data: that it is loading, that there is nothing, that something went wrong. */

import { fill, h } from "../dom.js";

const WAIT = 120; // ms: an answer that is faster replaces nothing

/* A block with a title, a sentence that says what to do, and buttons or links to do it. */
export function notice({ title, text, actions = [], kind = "empty" }) {
  return h(
    "div",
    { class: `notice ${kind}`, role: kind === "error" ? "alert" : null },
    h("p", { class: "notice-title" }, title),
    text && h("p", {}, text),
    actions.length > 0 && h("div", { class: "actions" }, actions),
  );
}

/* A whole view that is one notice, with its heading. */
export function whole(root, { title, text, actions = [], busy = false }) {
  root.setAttribute("aria-busy", String(busy));
  fill(root, h("div", { class: "notice whole" }, h("h1", { class: "notice-title" }, title), text && h("p", {}, text), actions.length > 0 && h("div", { class: "actions" }, actions)));
}

export function loading(label = "Loading \u2026") {
  return h("div", { class: "loading" }, h("span", { class: "spinner", "aria-hidden": "true" }), h("span", { role: "status" }, label));
}

export function failed(problem, retry) {
  return notice({
    kind: "error",
    title: problem.title || "This did not work",
    text: problem.message,
    actions: retry ? [h("button", { type: "button", class: "button", onclick: retry }, "Try again")] : [],
  });
}

/* Fill an element with what comes of an answer: loading while it is awaited, and what went wrong if it fails. */
export async function load(element, signal, ask, render, { label, onFailed } = {}) {
  const again = () => load(element, signal, ask, render, { label, onFailed });
  element.setAttribute("aria-busy", "true");
  const slow = setTimeout(() => fill(element, loading(label)), WAIT);
  try {
    const answer = await ask();
    clearTimeout(slow);
    if (!signal.aborted) fill(element, render(answer));
  } catch (error) {
    clearTimeout(slow);
    if (signal.aborted) return;
    if (!report(error)) fill(element, onFailed?.(error) ?? failed(error, again));
  } finally {
    element.removeAttribute("aria-busy");
  }
}

/* Whether the frame deals with it: a token that is not accepted. Errors of the page itself are thrown on. */
export function report(error) {
  if (error.status === undefined) throw error;
  if (error.status !== 401) return false;
  window.dispatchEvent(new CustomEvent("gate:unauthorized"));
  return true;
}

/* Do something now and every few seconds, as long as the view and its tab are in sight. */
export function repeat(signal, seconds, work) {
  let timer = null;
  let running = false;
  const turn = async () => {
    clearTimeout(timer);
    if (signal.aborted || running || document.hidden) return;
    running = true;
    try {
      await work();
    } finally {
      running = false;
      if (!signal.aborted) timer = setTimeout(turn, seconds * 1000);
    }
  };
  document.addEventListener("visibilitychange", turn, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  return turn();
}
