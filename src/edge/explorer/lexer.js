/**
 * Splits GraphQL and JSON text into tokens, for highlighting and for completion. The text is still
 * being typed, so nothing here fails: unreadable text becomes a token of kind `unknown`, and a string
 * may lack its end.
 */

const GRAPHQL = new RegExp(
  [
    String.raw`(?<space>[\s,\uFEFF]+)`,
    String.raw`(?<comment>#[^\n\r]*)`,
    String.raw`(?<block>"""(?:\\"""|[^])*?(?:"""|$))`,
    String.raw`(?<string>"(?:\\.|[^"\\\n\r])*"?)`,
    String.raw`(?<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)`,
    String.raw`(?<name>[A-Za-z_]\w*)`,
    String.raw`(?<variable>\$\w*)`,
    String.raw`(?<directive>@\w*)`,
    String.raw`(?<punctuation>\.\.\.|[!&(){}[\]:=|])`,
    String.raw`(?<unknown>.)`,
  ].join("|"),
  "gu",
);

const JSON_TEXT = new RegExp(
  [
    String.raw`(?<space>\s+)`,
    String.raw`(?<key>"(?:\\.|[^"\\\n\r])*"(?=\s*:))`,
    String.raw`(?<string>"(?:\\.|[^"\\\n\r])*"?)`,
    String.raw`(?<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)`,
    String.raw`(?<keyword>\b(?:true|false|null)\b)`,
    String.raw`(?<punctuation>[{}[\]:,])`,
    String.raw`(?<unknown>.)`,
  ].join("|"),
  "gu",
);

function* tokens(pattern, text) {
  for (const { 0: found, index, groups } of text.matchAll(pattern)) {
    for (const kind in groups) {
      if (groups[kind] === undefined) continue;
      yield { kind, text: found, start: index, end: index + found.length };
      break;
    }
  }
}

/** Every token of a GraphQL document, spaces and comments included. */
export const graphqlTokens = (text) => [...tokens(GRAPHQL, text)];

/** Every token of a JSON text, spaces included. */
export const jsonTokens = (text) => [...tokens(JSON_TEXT, text)];

/** Whether a token is significant to the server. */
export const isSignificant = (token) => token.kind !== "space" && token.kind !== "comment";

/**
 * The operations of a document as `{kind, name, firstField}`; `name` is undefined for an anonymous
 * one. Fragments are omitted.
 */
export function operations(text) {
  const found = [];
  let depth = 0;
  let awaited = "definition";
  for (const token of graphqlTokens(text).filter(isSignificant)) {
    if (token.text === "{" || token.text === "(") {
      if (depth === 0 && token.text === "{") {
        if (awaited === "definition") found.push({ kind: "query" });
        awaited = awaited === "fragment" ? "definition" : "field";
      }
      depth += 1;
    } else if (token.text === "}" || token.text === ")") {
      depth = Math.max(0, depth - 1);
      if (depth === 0 && token.text === "}") awaited = "definition";
    } else if (token.kind === "name" && depth === 0) {
      if (["query", "mutation", "subscription"].includes(token.text) && awaited === "definition") {
        found.push({ kind: token.text });
        awaited = "name";
      } else if (token.text === "fragment" && awaited === "definition") {
        awaited = "fragment";
      } else if (awaited === "name") {
        found.at(-1).name = token.text;
        awaited = "selection";
      }
    } else if (token.kind === "name" && depth === 1 && awaited === "field") {
      found.at(-1).firstField = token.text;
      awaited = "selection";
    }
  }
  return found;
}
