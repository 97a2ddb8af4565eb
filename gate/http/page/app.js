/* The frame of the page: which view a URL shows, the navigation, the state of the service, and the token.

   A view is a module with `title` and `show(view)`. It gets
     root     the element that it fills
     params   what its URL says after "?"
     signal   aborted when another view is shown
     session  what this client may do, and what the service can
     setParams(params)   what its URL says from now on; nothing is shown anew */

import { api, token } from "./api.js";
import { announce, fill, h } from "./dom.js";
import { icon } from "./parts/icon.js";
import { whole } from "./parts/states.js";
import * as compare from "./views/compare.js";
import * as deadLetters from "./views/dead_letters.js";
import * as family from "./views/family.js";
import * as feed from "./views/feed.js";
import * as find from "./views/find.js";
import * as overview from "./views/overview.js";
import * as profiles from "./views/profiles.js";
import * as signIn from "./views/sign_in.js";

const VIEWS = [
  { path: "/", icon: "overview", view: overview },
  { path: "/find", icon: "find", view: find },
  { path: "/compare", icon: "compare", view: compare },
  { path: "/family", icon: "family", view: family },
  { path: "/feed", icon: "feed", view: feed },
  { path: "/dead-letters", icon: "letters", view: deadLetters },
  { path: "/profiles", icon: "profiles", view: profiles },
];

const main = document.getElementById("main");
const nav = document.getElementById("nav");
const statusArea = document.getElementById("status");
let shown = new AbortController();
let shownHash = null;
let session = null;

function route() {
  const [path, query = ""] = location.hash.replace(/^#/, "").split(/\?(.*)/s);
  const found = VIEWS.find((row) => row.path === (path || "/"));
  return { row: found, params: new URLSearchParams(query) };
}

function show({ focus = true } = {}) {
  shown.abort();
  shown = new AbortController();
  shownHash = location.hash;
  const { row, params } = route();
  for (const link of nav.querySelectorAll("a")) {
    if (row && link.dataset.path === row.path) {
      link.setAttribute("aria-current", "page");
      nav.scrollLeft = link.offsetLeft - nav.offsetLeft - 48; // where the links lie in a row
    } else link.removeAttribute("aria-current");
  }
  const title = row ? row.view.title : "No such view";
  document.title = `${title} \u00b7 Check-in gate`;
  const root = h("div", { class: "view" });
  fill(main, root);
  const view = {
    root,
    params,
    signal: shown.signal,
    session,
    setParams(next) {
      const query = new URLSearchParams(Object.entries(next).filter(([, value]) => value !== null && value !== undefined && value !== ""));
      const hash = `#${row.path}${query.size ? `?${query}` : ""}`;
      shownHash = hash;
      history.replaceState(null, "", hash);
    },
  };
  if (!row) {
    whole(root, { title: "There is no such view", text: "The address names none of the views of this page.", actions: [h("a", { class: "button", href: "#/" }, "Go to the overview")] });
  } else if (session === null) {
    open(view, { focus });
    return;
  } else row.view.show(view);
  arrive(title, focus);
}

/* Those who use a keyboard or a screen reader begin at the top of the new view. */
function arrive(title, focus) {
  window.scrollTo(0, 0);
  if (!focus) return;
  main.focus({ preventScroll: true });
  announce(title);
}

/* Ask who this client is; then show what was asked for, or the entry of a token. */
async function open(view, { focus }) {
  whole(view.root, { busy: true, title: "Asking the service \u2026" });
  try {
    session = await api.session(view.signal);
  } catch (problem) {
    if (view.signal.aborted) return;
    if (problem.status === 401) {
      document.title = `${signIn.title} \u00b7 Check-in gate`;
      signIn.show({ ...view, problem: token.get() ? problem : null, done: () => show() });
    } else {
      whole(view.root, { title: problem.title || "The service does not answer", text: problem.message, actions: [h("button", { type: "button", class: "button", onclick: () => show() }, "Try again")] });
    }
    describeSession();
    return;
  }
  describeSession();
  show({ focus });
}

function describeSession() {
  if (session === null) {
    fill(statusArea);
    return;
  }
  const leave = h("button", { type: "button", class: "quiet", onclick: signOut }, "Forget the token");
  fill(
    statusArea,
    h("p", {}, h("strong", {}, session.profile), ` on ${session.index}`),
    session.demo && h("p", {}, "Documents of the demonstration"),
    h("p", {}, `Version ${session.version}`),
    session.token !== null && h("p", {}, `Token ${session.token}`),
    session.token !== null && leave,
  );
}

function signOut() {
  token.set("");
  session = null;
  show();
}

/* Any view may find that its token is no longer accepted. */
window.addEventListener("gate:unauthorized", () => {
  session = null;
  show();
});

fill(
  nav,
  VIEWS.map((row) => h("a", { href: `#${row.path}`, "data-path": row.path }, icon(row.icon), h("span", {}, row.view.title))),
);
nav.addEventListener("click", (event) => {
  if (event.target.closest("a")?.hash === location.hash) show(); // the address stays, so nothing else shows it anew
});
document.getElementById("skip").addEventListener("click", () => main.focus());
window.addEventListener("hashchange", () => {
  if (location.hash !== shownHash) show();
});
show({ focus: false });
