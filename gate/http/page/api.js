/* The service, asked by its own page. What goes wrong is a Problem, as the service words it. */

const TOKEN = "gate.token"; // kept by this tab only, until it is closed

export class Problem extends Error {
  constructor({ status = 0, code = "unreachable", detail, field = null, title = "" }) {
    super(detail);
    Object.assign(this, { status, code, detail, field, title });
  }
}

export const token = {
  get: () => sessionStorage.getItem(TOKEN) ?? "",
  set: (value) => (value ? sessionStorage.setItem(TOKEN, value) : sessionStorage.removeItem(TOKEN)),
};

function address(path, query) {
  const url = new URL(path, document.baseURI.split("#")[0]);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(name, value);
  }
  return url;
}

async function ask(path, { method = "GET", query, body, signal } = {}) {
  const headers = {};
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  if (body !== undefined && !(body instanceof FormData)) {
    headers["Content-Type"] = "application/json";
    body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(address(path, query), { method, headers, body, signal, cache: "no-store" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem({ title: "The service does not answer", detail: "The service does not answer. It may be stopped, or the network is down." });
  }
  if (answer.ok) return answer.json();
  throw new Problem(await said(answer));
}

async function said(answer) {
  const status = answer.status;
  try {
    return { ...(await answer.json()), status };
  } catch {
    return { status, code: "unknown", title: `Status ${status}`, detail: `The service answered with status ${status}.` };
  }
}

/* An id as one segment of a path. */
const document_ = (id) => `v1/documents/${encodeURIComponent(id)}`;

export const api = {
  session: (signal) => ask("v1/session", { signal }),
  overview: (minutes, signal) => ask("v1/overview", { query: { minutes }, signal }),
  stats: (signal) => ask("v1/stats", { signal }),
  feed: (query, signal) => ask("v1/feed", { query, signal }),
  profiles: (signal) => ask("v1/profiles", { signal }),
  plan: (query, signal) => ask("v1/plan", { query, signal }),
  documents: (query, signal) => ask("v1/documents", { query, signal }),
  group: (id, query, signal) => ask(`v1/groups/${encodeURIComponent(id)}`, { query, signal }),
  pairs: (query, signal) => ask("v1/pairs", { query, signal }),
  verdict: (id, signal) => ask(`${document_(id)}/verdict`, { signal }),
  document: (id, signal) => ask(document_(id), { signal }),
  similarToDocument: (id, query, signal) => ask(`${document_(id)}/similar`, { query, signal }),
  similarToFingerprint: (query, signal) => ask("v1/similar", { query, signal }),
  similarToText: (body, signal) => ask("v1/similar", { method: "POST", body, signal }),
  compare: (body, signal) => ask("v1/compare", { method: "POST", body, signal }),
  textOfFile,
};

/* The text of a file in a format that the service reads; a Problem where it gives none. */
async function textOfFile(file, signal) {
  const body = new FormData();
  body.append("file", file, file.name);
  const { files } = await ask("v1/texts", { method: "POST", body, signal });
  if (files[0].problem) throw new Problem(files[0].problem);
  return files[0].text;
}
