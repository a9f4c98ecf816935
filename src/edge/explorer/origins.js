/**
 * Values that examples take from the responses to other examples: the id from "Open a cart" is used in
 * "Put something into it".
 *
 * The `from` of an example names the variables and the sources of their values. With
 * `{cart: {OpenCart: "openCart.id"}}`, `cart` is the `id` in `openCart` in the response to the operation
 * `OpenCart`. If several operations are named, the newest response is used. Values are kept only while
 * the page is open.
 *
 * A cart that is checked out takes no further lines. The `ends` of an example names the variables whose
 * thing has ended after its success, and some refusals tell the same. The values that mutations told of
 * such a thing are forgotten, so that the example that opens one is run again.
 */

import { element } from "./dom.js";
import { freshVariables } from "./examples.js";
import { operations } from "./lexer.js";

/** Refusals by which the thing of an example's variable can't be changed any more. */
const ENDED = new Set([
  "ACCOUNT_CLOSED",
  "BOOKING_NOT_ACTIVE",
  "CART_NOT_ACTIVE",
  "CLAIM_LOST",
  "COMMENT_REMOVED",
  "NOT_FOUND",
  "ORDER_NOT_OPEN",
  "RECEIPT_NOT_OPEN",
]);

/** The response to an example that was run for another one lacks the needed value. */
export class NotInAnswer extends Error {
  constructor(variable, source, answer) {
    super(
      `“${source.title}” was run first, for the variable ${variable}. Its answer has no value for it.`,
    );
    this.answer = answer;
  }
}

export class Origins {
  /** Examples by operation name. */
  #examples;
  /** Paths that are read from responses, by operation name. */
  #paths = new Map();
  /** The values found, by operation and path: `{value, number, isAutomatic}`, or `{hasEnded}`. */
  #found = new Map();
  /** Forgotten values. */
  #over = new Set();
  #answers = 0;

  constructor(examples) {
    this.#examples = new Map(examples.map((example) => [operationName(example.query), example]));
    for (const places of examples.flatMap(({ from = {} }) => Object.values(from))) {
      for (const [operation, path] of Object.entries(places)) {
        this.#paths.set(operation, (this.#paths.get(operation) ?? new Set()).add(path));
      }
    }
  }

  /**
   * Stores the values that examples need from the response to an operation with these variables, and forgets
   * those of things that have ended. `isAutomatic`: the user didn't run it.
   */
  remember(operation, { data, variables, isAutomatic = false }) {
    this.#forget(this.#ended(operation, data, variables));
    this.#answers += 1;
    const number = this.#answers;
    for (const path of this.#paths.get(operation) ?? []) {
      const value = path.split(".").reduce((inside, key) => inside?.[key], data);
      if (value) this.#found.set(`${operation} ${path}`, { value, number, isAutomatic });
    }
  }

  /** The values of variables whose thing has ended, as the response to an example tells. */
  #ended(operation, data, variables) {
    const example = this.#examples.get(operation);
    const answers = Object.values(data ?? {});
    const codes = answers.flatMap((answer) => answer?.code ?? []);
    const isSuccess = answers.length > 0 && answers.every((answer) => answer && !answer.code);
    const names = codes.some((code) => ENDED.has(code)) ? Object.keys(example?.from ?? {}) : [];
    const ends = isSuccess ? (example?.ends ?? []) : [];
    return [...names, ...ends].map((name) => variables?.[name]);
  }

  /** Forgets values that mutations told. What a query has found can be looked at all the same. */
  #forget(values) {
    for (const [place, { value }] of this.#found) {
      const example = this.#examples.get(place.split(" ")[0]);
      const isMutation = operations(example?.query ?? "")[0]?.kind === "mutation";
      if (!isMutation || !value || !values.includes(value)) continue;
      this.#found.set(place, { hasEnded: true });
      this.#over.add(value);
    }
  }

  /** The variables with a placeholder for each value that was forgotten, or the same object. */
  renew(example, variables) {
    const over = this.of(example).filter(({ name }) => this.#over.has(variables?.[name]));
    if (over.length === 0) return variables;
    return { ...variables, ...Object.fromEntries(over.map(({ name, value }) => [name, value])) };
  }

  /** The variables of an example, with a placeholder for each value that isn't known yet. */
  fill(example) {
    const filled = this.of(example).map(({ name, value }) => [name, value]);
    return { ...Object.fromEntries(filled), ...freshVariables(example.variables) };
  }

  /** `{name, value, source, isKnown, isAutomatic, hasEnded}` of each variable that comes from a response. */
  of(example) {
    return Object.entries(example?.from ?? {}).map(([name, places]) => ({
      name,
      ...this.#origin(places),
    }));
  }

  /**
   * The variables without placeholders, or the same object if there are none. For an unknown value
   * `ask(example, variables)` runs the example that provides it, after those that it needs itself.
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
    const data = answer.body?.data;
    this.remember(operationName(source.query), { data, variables, isAutomatic: true });
    if (!this.#origin(places).isKnown) throw new NotInAnswer(name, source, answer);
  }

  /** Variables that still hold a placeholder, and the sources of their values. */
  #missing(example, variables) {
    const isMissing = ([name, places]) =>
      variables?.[name] === placeholder(this.#usualSource(places));
    return Object.entries(example?.from ?? {}).filter(isMissing);
  }

  /** The newest of the values from these sources, or a placeholder. */
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
    const hasEnded = found.some((one) => one.hasEnded);
    return { value: placeholder(source), source, isKnown: false, hasEnded };
  }

  /** The example that is run for an unknown value: the first one named. */
  #usualSource(places) {
    return this.#examples.get(Object.keys(places)[0]);
  }
}

/** The name of the first operation in a text. */
export const operationName = (text) => operations(text)[0]?.name;

const placeholder = ({ title }) => `(from the answer to “${title}”)`;

/** Shows the sources of variables, except of those that were changed by hand. */
export function originList(origins, variables) {
  const rows = origins
    .filter(({ name, value }) => variables?.[name] === value)
    .map(({ name, source, isKnown, isAutomatic, hasEnded }) => {
      const [variable, title] = [element("code", {}, name), element("b", {}, source.title)];
      const how = isAutomatic ? ", which was run automatically" : "";
      if (isKnown) return element("li", {}, variable, " is from the answer to ", title, how);
      const why = hasEnded ? " has ended: Run first runs " : " isn't known yet: Run first runs ";
      return element("li", { class: "unknown" }, variable, why, title);
    });
  return element("ul", { class: "origins" }, ...rows);
}
