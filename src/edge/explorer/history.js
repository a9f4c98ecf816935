/** The most recent operations, stored in the browser without tokens. */

import { element } from "./dom.js";
import { kindMark } from "./examples.js";
import { operations } from "./lexer.js";
import { kept } from "./storage.js";

const MOST_KEPT = 20;

export class History {
  constructor(root, { onChoose }) {
    this.root = root;
    this.onChoose = onChoose;
    this.#draw(kept.read("history", []));
  }

  /**
   * Adds an operation at the top: `{query, variables, operationName, outcome}`. An earlier entry of the
   * same operation is removed.
   */
  add(entry) {
    const isOther = ({ query, variables }) =>
      query !== entry.query || variables !== entry.variables;
    const entries = [{ ...entry, at: Date.now() }, ...kept.read("history", []).filter(isOther)];
    kept.write("history", entries.slice(0, MOST_KEPT));
    this.#draw(entries.slice(0, MOST_KEPT));
  }

  #clear() {
    kept.write("history", []);
    this.#draw([]);
  }

  #draw(entries) {
    if (entries.length === 0) {
      this.root.replaceChildren(
        element(
          "p",
          { class: "hint" },
          "Operations that you run are listed here, the last 20 of them.",
        ),
      );
      return;
    }
    const rows = entries.map((entry) => this.#row(entry));
    const clear = element(
      "button",
      { type: "button", class: "quiet", onclick: () => this.#clear() },
      "Clear history",
    );
    this.root.replaceChildren(
      element("ul", { class: "choices" }, ...rows),
      element("div", { class: "after-list" }, clear),
    );
  }

  #row(entry) {
    const all = operations(entry.query);
    const operation = all.find(({ name }) => name === entry.operationName) ?? all[0];
    const title = operation?.name ?? operation?.firstField ?? entry.query.trim().split("\n")[0];
    return element(
      "li",
      {},
      element(
        "button",
        { type: "button", onclick: () => this.onChoose(entry) },
        kindMark(operation?.kind ?? "query"),
        element("span", { class: "title" }, title),
        element("span", { class: `outcome ${entry.outcome}` }, entry.outcome),
        element("time", { title: new Date(entry.at).toLocaleString() }, timeText(entry.at)),
      ),
    );
  }
}

function timeText(at) {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday
    ? date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })
    : date.toLocaleDateString([], { day: "numeric", month: "short" });
}
