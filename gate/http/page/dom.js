/* Elements made of values. A value becomes a text or an attribute, and is never read as HTML: ids and titles come from
   strangers. */

const SVG = "http://www.w3.org/2000/svg";

/* h("a", {href: "#/", class: "row", onclick: open}, "text", child): nothing for a child or an attribute that is null,
   undefined or false. */
export function h(name, attributes, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/* The same for SVG. */
export function s(name, attributes, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "vars") for (const [key, set] of Object.entries(value)) element.style.setProperty(key, set);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...shown(children));
  return element;
}

function shown(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== "");
}

/* Replace what an element holds. */
export function fill(element, ...children) {
  element.replaceChildren(...shown(children));
  return element;
}

let ids = 0;

/* An id that no other element has. */
export function freshId(prefix) {
  ids += 1;
  return `${prefix}-${ids}`;
}

/* Say something to those who hear the page. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}
