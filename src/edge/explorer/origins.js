/**
 * Values that examples take from the answers to other examples: an id from "Open a cart" goes into
 * "Put something into it".
 *
 * The `from` of an example names the variables and where their values are found. With
 * `{cart: {OpenCart: "openCart.id"}}`, `cart` is the `id` in `openCart` in the answer to the operation
 * `OpenCart`. If several operations are named, the newest answer counts. Values are only kept as long
 * as the page is open.
 */

import { element } from "./dom.js";
import { freshVariables } from "./examples.js";
import { operations } from "./lexer.js";

/** The answer to an example that was run for a variable of another one lacks the value. */
export class NotInAnswer extends Error {
  constructor(variable, source, answer) {
    super(
      `“${source.title}” was run first, for the variable ${variable}. Its answer has no value for it.`,
    );
    this.answer = answer;
  }
}

export class Origins {
  /** Examples by the names of their operations. */
  #examples;
  /** Paths that are looked at in answers, by the names of operations. */
  #paths = new Map();
  /** What was found, by operation and path: `{value, number, isAutomatic}`. */
  #found = new Map();
  #answers = 0;

  constructor(examples) {
    this.#examples = new Map(examples.map((example) => [operationName(example.query), example]));
    for (const places of examples.flatMap(({ from = {} }) => Object.values(from))) {
      for (const [operation, path] of Object.entries(places)) {
        this.#paths.set(operation, (this.#paths.get(operation) ?? new Set()).add(path));
      }
    }
  }

  /** Keeps what examples need from the `data` of an answer; the user hasn't run what is automatic. */
  remember(operation, data, isAutomatic = false) {
    this.#answers += 1;
    const number = this.#answers;
    for (const path of this.#paths.get(operation) ?? []) {
      const value = path.split(".").reduce((inside, key) => inside?.[key], data);
      if (value) this.#found.set(`${operation} ${path}`, { value, number, isAutomatic });
    }
  }

  /** The variables of an example. A placeholder stands for a value that no answer has told yet. */
  fill(example) {
    const filled = this.of(example).map(({ name, value }) => [name, value]);
    return { ...Object.fromEntries(filled), ...freshVariables(example.variables) };
  }

  /** `{name, value, source, isKnown, isAutomatic}` of each variable that comes from an answer. */
  of(example) {
    return Object.entries(example?.from ?? {}).map(([name, places]) => ({
      name,
      ...this.#origin(places),
    }));
  }

  /**
   * The variables without placeholders; the same object where there are none. For what no answer has
   * told yet, `ask(example, variables)` runs the example that has it, after what that one needs itself.
   */
  async obtain(example, variables, ask) {
    let whole = variables;
    for (const [name, places] of this.#missing(example, variables)) {
      if (!this.#origin(places).isKnown) await this.#run(name, places, ask);
      whole = { ...whole, [name]: this.#origin(places).value };
    }
    return whole;
  }

  async #run(name, places, ask) {
    const source = this.#usualSource(places);
    const variables = await this.obtain(source, this.fill(source), ask);
    const answer = await ask(source, variables);
    this.remember(operationName(source.query), answer.body?.data, true);
    if (!this.#origin(places).isKnown) throw new NotInAnswer(name, source, answer);
  }

  /** Variables that still hold a placeholder, and where their values are found. */
  #missing(example, variables) {
    const isMissing = ([name, places]) =>
      variables?.[name] === placeholder(this.#usualSource(places));
    return Object.entries(example?.from ?? {}).filter(isMissing);
  }

  /** The newest of the values that were found in these places, or a placeholder. */
  #origin(places) {
    const found = Object.entries(places).map(([operation, path]) => ({
      ...this.#found.get(`${operation} ${path}`),
      source: this.#examples.get(operation),
      isKnown: true,
    }));
    const known = found.filter(({ number }) => number);
    const newest = known.sort((one, other) => other.number - one.number)[0];
    if (newest) return newest;
    const source = this.#usualSource(places);
    return { value: placeholder(source), source, isKnown: false };
  }

  /** The example that is run for a value that isn't known: the first that is named. */
  #usualSource(places) {
    return this.#examples.get(Object.keys(places)[0]);
  }
}

/** The name of a text's first operation. */
export const operationName = (text) => operations(text)[0]?.name;

const placeholder = ({ title }) => `(from the answer to “${title}”)`;

/** Tells where variables come from, but for those that were changed by hand. */
export function originList(origins, variables) {
  const rows = origins
    .filter(({ name, value }) => variables?.[name] === value)
    .map(({ name, source, isKnown, isAutomatic }) => {
      const [variable, title] = [element("code", {}, name), element("b", {}, source.title)];
      const how = isAutomatic ? ", which was run automatically" : "";
      return isKnown
        ? element("li", {}, variable, " is from the answer to ", title, how)
        : element("li", { class: "unknown" }, variable, " isn't known yet: Run first runs ", title);
    });
  return element("ul", { class: "origins" }, ...rows);
}
