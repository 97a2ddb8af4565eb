/* Tables: columns with a title, a kind and a cell; a wide one scrolls by itself and can be reached by keyboard. */

import { fill, h } from "../dom.js";

/* columns: [{title, cell: (row) => child or children, number?, wide?, key?, unseen?}]; with `key` a column can be sorted
   by it. `href(row)`: a click anywhere on a row follows it. Returns {element, rows, body}: the element of each row. */
export function table({ caption, columns, rows, href, sorted = null }) {
  const elements = new Map(rows.map((row) => [row, tableRow(columns, row, href)]));
  const body = h("tbody", {}, ...elements.values());
  const heads = columns.map((column) => h("th", { scope: "col", class: kind(column) }, column.unseen ? h("span", { class: "unseen" }, column.title) : column.title));
  columns.forEach((column, place) => column.key && makeSortable(heads[place], column, heads, { rows, elements, body }));
  if (sorted) heads[columns.findIndex((column) => column.title === sorted)]?.setAttribute("aria-sort", "descending");
  const element = h(
    "div",
    { class: "table-box", role: "region", "aria-label": caption, tabindex: "0" },
    h("table", {}, h("caption", { class: "unseen" }, caption), h("thead", {}, h("tr", {}, heads)), body),
  );
  return { element, rows: elements, body };
}

export function tableRow(columns, row, href) {
  return h("tr", { class: href ? "opens" : null, onclick: href ? (event) => follow(event, href(row)) : null }, columns.map((column) => cell(column, row)));
}

/* A button that opens a row below its own, with what `inside()` makes when it is first opened. */
export function opener(label, what, inside) {
  let below = null;
  const button = h("button", {
    type: "button",
    class: "quiet",
    "aria-expanded": "false",
    "aria-label": `${label} ${what}`,
    onclick: () => {
      const row = button.closest("tr");
      below ??= h("tr", { class: "below" }, h("td", { colspan: row.children.length }, inside()));
      const open = below.isConnected;
      if (open) below.remove();
      else row.after(below);
      button.setAttribute("aria-expanded", String(!open));
    },
  }, label);
  return button;
}

const kind = (column) => [column.number && "number", column.wide && "wide", column.mono && "mono"].filter(Boolean).join(" ") || null;

function cell(column, row) {
  const inside = column.cell(row);
  return column.head ? h("th", { scope: "row", class: kind(column) }, inside) : h("td", { class: kind(column) }, inside);
}

function follow(event, address) {
  if (event.defaultPrevented || event.target.closest("a, button, input, label")) return;
  if (String(getSelection())) return; // a text was marked, not a row chosen
  location.hash = address;
}

function makeSortable(head, column, heads, { rows, elements, body }) {
  const title = head.textContent;
  const sort = () => {
    const descending = head.getAttribute("aria-sort") !== "descending";
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const ordered = [...rows].sort((a, b) => compareKeys(column.key(a), column.key(b)) * (descending ? -1 : 1));
    body.append(...ordered.map((row) => elements.get(row)));
  };
  fill(head, h("button", { type: "button", class: "sort", onclick: sort }, title));
}

/* What is not there comes last in a descending order. */
function compareKeys(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  return typeof a === "string" ? a.localeCompare(b) : a - b;
}
