// The table of all documents: only the rows in view are in the page, so that it stays quick with 100,000 of them.
"use strict";
(() => {
  const ROW = 34; // pixels, as in the style sheet
  const SPARE = 8; // rows drawn above and below the view
  const data = JSON.parse(document.getElementById("data").textContent);
  const { columns, relations, folders, labels } = data;
  const total = columns.document.length;
  const pairs = new Map(data.pairs.map((pair) => [`${pair.copy}\0${pair.best}`, pair]));
  const pairOf = (row) => pairs.get(`${columns.document[row]}\0${columns.best[row]}`);

  const byId = (id) => document.getElementById(id);
  const make = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined && text !== null) element.textContent = text;
    if (name) element.className = name;
    return element;
  };

  // Values as people read them.

  const UNITS = ["B", "kB", "MB", "GB", "TB"];
  const share = (value) => (value === null ? "-" : `${(Math.floor(value * 1000 + 1e-6) / 10).toFixed(1)} %`);
  const whole = (value) => (value === null ? "-" : value.toLocaleString("en"));
  const size = (value) => {
    if (value === null) return "-";
    let unit = 0;
    while (value >= 1000 && unit < UNITS.length - 1) {
      value /= 1000;
      unit += 1;
    }
    return `${unit ? value.toFixed(1) : value} ${UNITS[unit]}`;
  };
  const gone = (value, isGone) => (isGone ? `${value} (gone from disk)` : value);
  const time = (value) =>
    value === null ? "-" : new Date(value * 1000).toISOString().slice(0, 16).replace("T", " ");

  const COLUMNS = [
    { key: "document", label: "Document", show: (value) => value, text: true },
    { key: "relation", label: "Verdict", show: (value) => relations[value].name },
    { key: "best", label: "Most like", show: (value, row) => gone(value ?? "-", columns.gone[row] & 1), text: true },
    { key: "resemblance", label: "Resemblance", show: share, number: true },
    { key: "distance", label: "Bits", show: whole, number: true },
    { key: "size", label: "Size", show: size, number: true },
    { key: "time", label: "Time (UTC)", show: time, number: true },
  ];

  // Which rows, and in which order.

  let shown = []; // numbers of rows
  let active = -1; // place in `shown`
  let sorted = null; // the column, and whether it falls
  const ranks = new Map();
  let searched = null;
  const relationOf = (row) => relations[columns.relation[row]];
  const verdicts = { "": () => true, similar: (row) => relationOf(row).similar, pairs: (row) => Boolean(pairOf(row)) };
  for (const { name } of relations) verdicts[name] = (row) => relationOf(row).name === name;

  function rankOf(column) {
    const values = columns[column.key];
    if (!column.text) return values;
    if (!ranks.has(column.key)) {
      const order = [...values.keys()].sort((a, b) => {
        const [left, right] = [values[a], values[b]];
        return left === right ? 0 : left === null ? 1 : right === null ? -1 : left < right ? -1 : 1;
      });
      const rank = new Array(total);
      let place = 0;
      order.forEach((row, at) => {
        if (at && values[row] !== values[order[at - 1]]) place = at;
        rank[row] = values[row] === null ? null : place;
      });
      ranks.set(column.key, rank);
    }
    return ranks.get(column.key);
  }

  function choose() {
    const wanted = byId("search").value.trim().toLowerCase();
    const verdict = byId("verdict").value;
    const folder = byId("folder").value;
    if (wanted && !searched) {
      const { document: names, best, original } = columns;
      searched = names.map((name, row) => `${name}\n${best[row] ?? ""}\n${original[row] ?? ""}`.toLowerCase());
    }
    shown = [];
    for (let row = 0; row < total; row += 1) {
      if (!verdicts[verdict](row)) continue;
      if (folder !== "" && columns.folder[row] !== Number(folder)) continue;
      if (wanted && !searched[row].includes(wanted)) continue;
      shown.push(row);
    }
    if (sorted) {
      const rank = rankOf(sorted.column);
      const sign = sorted.falls ? -1 : 1;
      // Rows without a value are last in either direction; equal ones keep their order.
      shown.sort((a, b) => {
        const [left, right] = [rank[a], rank[b]];
        if (left === null || right === null) return (left === null) - (right === null) || a - b;
        return sign * (left - right) || a - b;
      });
    }
    active = -1;
    scroller.scrollTop = 0;
    const copies = shown.reduce((sum, row) => sum + relationOf(row).similar, 0);
    const noun = (count, word) => `${whole(count)} ${word}`;
    byId("count").textContent =
      `${noun(shown.length, shown.length === 1 ? "document" : "documents")}` +
      `${shown.length === total ? "" : ` of ${whole(total)}`}, ` +
      `${noun(copies, copies === 1 ? "copy" : "copies")}.`;
    draw();
  }

  // The rows in view.

  const scroller = byId("rows");
  const grid = scroller.querySelector("table");
  const body = grid.tBodies[0];

  function drawRow(place) {
    const row = shown[place];
    const line = make("tr", null, "row");
    line.id = `row-${place}`;
    line.setAttribute("aria-rowindex", place + 2);
    line.setAttribute("aria-selected", place === active);
    for (const column of COLUMNS) {
      const text = column.show(columns[column.key][row], row);
      const cell = make("td", text, column.number ? "n" : "");
      if (column.text) cell.title = text; // it may be cut
      cell.setAttribute("role", "gridcell");
      if (column.key === "best" && pairOf(row)) cell.classList.add("pair");
      if (column.key === "relation" && relationOf(row).similar) cell.classList.add("copy");
      line.append(cell);
    }
    line.addEventListener("click", () => {
      activate(place);
      open();
    });
    return line;
  }

  function space(rows) {
    const line = make("tr", null, "space");
    line.setAttribute("aria-hidden", "true");
    const cell = make("td");
    cell.colSpan = COLUMNS.length;
    cell.style.height = `${rows * ROW}px`;
    line.append(cell);
    return line;
  }

  function draw() {
    const first = Math.max(0, Math.floor(scroller.scrollTop / ROW) - SPARE);
    const last = Math.min(shown.length, first + Math.ceil(scroller.clientHeight / ROW) + 2 * SPARE);
    const lines = [];
    if (first) lines.push(space(first));
    for (let place = first; place < last; place += 1) lines.push(drawRow(place));
    if (last < shown.length) lines.push(space(shown.length - last));
    body.replaceChildren(...lines);
    grid.setAttribute("aria-rowcount", shown.length + 1);
    if (active >= first && active < last) grid.setAttribute("aria-activedescendant", `row-${active}`);
    else grid.removeAttribute("aria-activedescendant");
  }

  function activate(place) {
    active = Math.max(0, Math.min(shown.length - 1, place));
    const head = grid.tHead.offsetHeight;
    const top = active * ROW;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + ROW + head > scroller.scrollTop + scroller.clientHeight) {
      scroller.scrollTop = top + ROW + head - scroller.clientHeight;
    }
    draw();
  }

  grid.addEventListener("keydown", (event) => {
    if (event.target !== grid || !shown.length) return;
    const page = Math.floor(scroller.clientHeight / ROW) - 2;
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in moves) activate(active + moves[event.key]);
    else if ((event.key === "Enter" || event.key === " ") && active >= 0) open();
    else return;
    event.preventDefault();
  });

  let waiting = false;
  scroller.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  });
  new ResizeObserver(draw).observe(scroller);

  const heads = COLUMNS.map((column) => {
    const head = make("th", null, column.number ? "n" : "");
    const button = make("button", column.label);
    head.scope = "col";
    head.setAttribute("role", "columnheader");
    button.type = "button";
    button.addEventListener("click", () => {
      const again = sorted && sorted.column === column;
      sorted = again && sorted.falls ? null : { column, falls: Boolean(again) };
      for (const other of heads) other.removeAttribute("aria-sort");
      if (sorted) head.setAttribute("aria-sort", sorted.falls ? "descending" : "ascending");
      choose();
    });
    head.append(button);
    return head;
  });
  grid.tHead.rows[0].replaceChildren(...heads);

  // One document, and its text beside that of what it is most like.

  const dialog = byId("one");

  function passagesOf(pair, side) {
    const text = make("p", null, "text");
    for (const [start, isShared, leftOut, end] of pair.sides[side]) {
      const part = isShared ? make("span", null, "shared") : make("mark");
      part.append(start);
      if (leftOut) part.append(make("i", ` \u2026 ${whole(leftOut)} words \u2026 `), end);
      text.append(part);
    }
    if (pair.cut[side]) text.append(make("i", " \u2026 the rest is not shown"));
    return text;
  }

  function open() {
    const row = shown[active];
    const relation = relationOf(row);
    byId("one-name").textContent = columns.document[row];
    const facts = [["Verdict", `${relation.name}: ${relation.meaning}`]];
    if (columns.best[row] !== null) {
      facts.push(["Most like", gone(columns.best[row], columns.gone[row] & 1)]);
      if (columns.original[row] !== null) {
        facts.push(["First of its family", gone(columns.original[row], columns.gone[row] & 2)]);
      }
      facts.push(["Resemblance", share(columns.resemblance[row])]);
      facts.push(["Contained in it", share(columns.containment[row])]);
      facts.push(["Bits that differ", columns.distance[row] === null ? "-" : `${columns.distance[row]} of 64`]);
    }
    facts.push(["Size", size(columns.size[row])], ["Time (UTC)", time(columns.time[row])]);
    facts.push(["Folder or archive", folders[columns.folder[row]]]);
    const list = make("dl", null, "facts");
    for (const [name, value] of facts) list.append(make("dt", name), make("dd", value));
    const parts = [list];
    const pair = pairOf(row);
    if (pair) {
      const key = make("p", null, "key text");
      key.append("The words that ", make("span", "both have", "shared"), " and those that ");
      key.append(make("mark", "only one has"), ":");
      const sides = make("div", null, "sides");
      [pair.copy, pair.best].forEach((name, side) => {
        const section = make("section");
        section.append(make("h3", name), passagesOf(pair, side));
        sides.append(section);
      });
      parts.push(key, sides);
    } else if (relation.similar) {
      const same = relation.name === "exact";
      parts.push(make("p", same ? labels.same : labels.absent, "soft"));
    }
    byId("one-body").replaceChildren(...parts);
    byId("one-family").hidden = columns.original[row] === null;
    byId("one-before").disabled = active === 0;
    byId("one-after").disabled = active === shown.length - 1;
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
  }

  function step(by) {
    activate(active + by);
    open();
  }
  byId("one-before").addEventListener("click", () => step(-1));
  byId("one-after").addEventListener("click", () => step(1));
  byId("one-family").addEventListener("click", () => {
    byId("search").value = columns.original[shown[active]];
    byId("verdict").value = "";
    byId("folder").value = "";
    dialog.close();
    choose();
  });
  dialog.addEventListener("close", () => grid.focus({ preventScroll: true }));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // beside the dialog
  });

  // Filters.

  for (const [number, name] of folders.entries()) byId("folder").append(new Option(name, number));
  const present = new Set(columns.relation);
  relations.forEach(({ name }, number) => {
    if (present.has(number)) byId("verdict").append(new Option(name, name));
  });
  if (!pairs.size) byId("verdict").querySelector("[value=pairs]").remove();
  let pending = 0;
  byId("search").addEventListener("input", () => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(choose);
  });
  for (const id of ["verdict", "folder"]) byId(id).addEventListener("change", choose);
  byId("no-script").hidden = true;
  byId("documents").hidden = false;
  choose();
})();
