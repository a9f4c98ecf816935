/**
 * The list of example operations.
 *
 * `explorer/examples.json` is a list of `{group, title, query, from?, ends?, variables?, role?}`. Groups appear
 * in the order of their first occurrence. `variables` is an object or missing. A string in it that is
 * exactly `"$random"` becomes a new id each time the example is chosen, for idempotency keys, which mustn't
 * repeat. `from` names variables whose values come from the responses to other examples, and `ends` those
 * whose thing has ended then, see `origins.js`. `role` names the token (`shopper`, `merchant`, `admin`) that the example needs.
 */

import { element } from "./dom.js";
import { operations } from "./lexer.js";

/** An example for any GraphQL server, used if the list can't be loaded. */
const FALLBACK = [
  {
    group: "Schema",
    title: "What can be read",
    query: `query WhatCanBeRead {
  __schema {
    queryType {
      fields {
        name
        description
      }
    }
  }
}
`,
  },
  {
    group: "Schema",
    title: "What one type holds",
    query: `query WhatOneTypeHolds($name: String!) {
  __type(name: $name) {
    kind
    description
    fields {
      name
      type {
        name
        kind
      }
    }
  }
}
`,
    variables: { name: "Query" },
  },
];

/** The list from the gateway, or the fallback; always at least one example. */
export async function loadExamples(address) {
  try {
    const response = await fetch(address);
    const examples = response.ok ? await response.json() : [];
    return examples.length > 0 ? examples : FALLBACK;
  } catch {
    return FALLBACK;
  }
}

/** An example's variables, with new ids in place of `"$random"`. */
export function freshVariables(variables = {}) {
  return JSON.parse(JSON.stringify(variables), (_, value) =>
    value === "$random" ? randomId() : value,
  );
}

/** Variables as text for the editor. */
export function variablesText(variables) {
  if (!variables || Object.keys(variables).length === 0) return "";
  return JSON.stringify(variables, null, 2);
}

function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A small mark that distinguishes queries, mutations and subscriptions. */
export function kindMark(kind) {
  return element("span", { class: `kind-mark ${kind}`, title: kind }, kind[0].toUpperCase());
}

export class ExampleList {
  constructor(root, { onChoose }) {
    this.onChoose = onChoose;
    this.examples = [];
    this.filter = element("input", {
      type: "search",
      placeholder: "Filter examples",
      "aria-label": "Filter examples",
      oninput: () => this.#applyFilter(),
    });
    this.groups = element("div", { class: "page" });
    this.none = element("p", { class: "hint", hidden: true }, "No example contains this.");
    root.append(element("div", { class: "filter" }, this.filter), this.none, this.groups);
  }

  show(examples) {
    this.examples = examples;
    const groups = new Map();
    for (const example of examples) {
      groups.set(example.group, [...(groups.get(example.group) ?? []), this.#row(example)]);
    }
    const sections = [...groups].map(([name, rows]) => {
      const head = element(
        "summary",
        {},
        name,
        element("span", { class: "count" }, String(rows.length)),
      );
      return element(
        "details",
        { class: "section", open: true },
        head,
        element("ul", { class: "choices" }, ...rows),
      );
    });
    this.groups.replaceChildren(...sections);
  }

  #row(example) {
    const kind = operations(example.query)[0]?.kind ?? "query";
    const button = element(
      "button",
      { type: "button", onclick: () => this.#choose(example, button, { isClicked: true }) },
      kindMark(kind),
      element("span", { class: "title" }, example.title),
      example.role ? element("span", { class: "role" }, example.role) : undefined,
    );
    return element(
      "li",
      { "data-words": `${example.group} ${example.title} ${example.query}`.toLowerCase() },
      button,
    );
  }

  #choose(example, button, { isClicked }) {
    this.onChoose(example, { isClicked });
    this.clearChoice();
    button.setAttribute("aria-current", "true");
  }

  /** The example with this operation, if there is one. */
  matching(query) {
    return this.examples.find((example) => example.query === query);
  }

  /** Chooses the first example automatically, so the visible view doesn't change. */
  chooseFirst() {
    const button = this.groups.querySelector(".choices button");
    this.#choose(this.examples[0], button, { isClicked: false });
  }

  /** Clears the choice, because the editor has another text. */
  clearChoice() {
    this.groups.querySelector("[aria-current]")?.removeAttribute("aria-current");
  }

  #applyFilter() {
    const wanted = this.filter.value.trim().toLowerCase();
    for (const row of this.groups.querySelectorAll("li"))
      row.hidden = !row.dataset.words.includes(wanted);
    for (const group of this.groups.children) {
      group.hidden = !group.querySelector("li:not([hidden])");
      if (wanted) group.open = true;
    }
    this.none.hidden = Boolean(this.groups.querySelector("details:not([hidden])"));
  }
}
