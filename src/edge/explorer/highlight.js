/** Highlights GraphQL and JSON text. */

import { element } from "./dom.js";
import { graphqlTokens, isSignificant, jsonTokens } from "./lexer.js";

const KEYWORDS = new Set(["query", "mutation", "subscription", "fragment", "on"]);
const CONSTANTS = new Set(["true", "false", "null"]);

/**
 * Longer texts aren't highlighted: a span for each token of a response of several megabytes would
 * block the page.
 */
const MOST_COLOURED = 150_000;

function colour(text, tokens, classOf) {
  const fragment = document.createDocumentFragment();
  tokens.forEach((token, index) => {
    const name = classOf(token, index);
    fragment.append(name ? element("span", { class: `t-${name}` }, token.text) : token.text);
  });
  return fragment;
}

/** A GraphQL document as highlighted nodes. */
export function highlightGraphql(text) {
  if (text.length > MOST_COLOURED) return document.createTextNode(text);
  const tokens = graphqlTokens(text);
  let inParentheses = 0;
  let before;
  const classOf = (token, index) => {
    if (!isSignificant(token)) return token.kind === "comment" ? "comment" : undefined;
    const previous = before;
    before = token.text;
    if (token.text === "(") inParentheses += 1;
    if (token.text === ")") inParentheses -= 1;
    if (token.kind === "block") return "string";
    if (token.kind !== "name") return token.kind;
    if (CONSTANTS.has(token.text)) return "keyword";
    if (previous === "on") return "type";
    if (inParentheses <= 0) return KEYWORDS.has(token.text) ? "keyword" : "field";
    const next = tokens.slice(index + 1, index + 4).find(isSignificant);
    if (next?.text === ":") return "key";
    return /^[A-Z][A-Z0-9_]+$/.test(token.text) && token.text !== "ID" ? "constant" : "type";
  };
  return colour(text, tokens, classOf);
}

/** A JSON text as highlighted nodes. */
export function highlightJson(text) {
  if (text.length > MOST_COLOURED) return document.createTextNode(text);
  return colour(text, jsonTokens(text), ({ kind }) => (kind === "space" ? undefined : kind));
}
