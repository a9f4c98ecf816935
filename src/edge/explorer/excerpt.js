/** Shows the position of an error in an operation. */

import { element } from "./dom.js";

/** Number of lines shown before the one with the error. */
const CONTEXT = 2;

/** The line that an error names, with the lines before it and a caret below the position. */
export function excerpt(text, { line, column }) {
  const lines = text.split("\n");
  const first = Math.max(1, line - CONTEXT);
  const width = String(line).length;
  const before = lines
    .slice(first - 1, line - 1)
    .map((each, index) => [number(first + index, width), `${each}\n`]);
  // A column counts characters, some of which are two code units in JavaScript's strings.
  const characters = [...(lines[line - 1] ?? "")];
  const start = characters.slice(0, column - 1);
  return element(
    "pre",
    { class: "excerpt" },
    ...before.flat(),
    number(line, width),
    start.join(""),
    element("mark", {}, characters[column - 1] ?? " "),
    `${characters.slice(column).join("")}\n`,
    number("", width),
    // Spaces would not align, because some characters are wider than others.
    element("span", { class: "unseen", "aria-hidden": "true" }, start.join("")),
    element("b", { class: "caret", "aria-hidden": "true" }, "^"),
  );
}

const number = (value, width) =>
  element(
    "span",
    { class: "number", "aria-hidden": "true" },
    `${String(value).padStart(width)} | `,
  );
