/* Icons, drawn for this page: lines on a grid of 20. They say nothing that the text beside them does not. */

import { s } from "../dom.js";

const PATHS = {
  overview: "M3 16.5h14M5 13.5V9M9.5 13.5V4M14 13.5V7",
  find: "M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM13 13l4 4",
  compare: "M3 4.5h5.5v11H3zM11.5 4.5H17v11h-5.5zM5 8h1.5M13.5 8H15M5 11h1.5",
  family: "M10 3v4M10 7H5v4M10 7h5v4M3 11h4v5H3zM13 11h4v5h-4zM10 7v4M8.2 11h3.6v5H8.2z",
  feed: "M3 5h14M3 10h14M3 15h9",
  letters: "M3 5h14v10H3zM3 5.5l7 5.5 7-5.5",
  profiles: "M3 16C8 16 8 4 17 4M3 4v12.5h14",
  file: "M5 3h6l4 4v10H5zM11 3v4h4",
};

export function icon(name) {
  return s("svg", { class: "icon", viewBox: "0 0 20 20", "aria-hidden": "true", focusable: "false" }, s("path", { d: PATHS[name] }));
}
