/**
 * Completions at the cursor. The text before the cursor is processed token by token, with a stack of
 * open brackets. It is still being typed, so it needn't be valid.
 */

import { graphqlTokens, isSignificant } from "./lexer.js";
import { isRequired, namedType, typeText } from "./schema.js";

const DEFINITIONS = ["query", "mutation", "subscription", "fragment"];
const CLOSING = new Set(["}", ")", "]"]);

/**
 * The frame at the cursor. `kind` is one of `document`, `selection` (of `type`), `inputs` (arguments or
 * an input object: `inputs` are all that exist, `input` the one whose value is being written, `used`
 * those already given), `list` (of `input`'s values) and `variables` (their definitions).
 */
function frameAt(schema, tokens) {
  const stack = [{ kind: "document", used: new Set() }];
  const declared = new Set();
  let previous = "";
  for (const token of tokens) {
    const frame = stack.at(-1);
    if (CLOSING.has(token.text)) {
      if (stack.length > 1) stack.pop();
      // A value in brackets is complete.
      if (stack.at(-1).kind === "inputs") stack.at(-1).input = undefined;
    } else if (["{", "(", "["].includes(token.text)) {
      stack.push(opened(schema, frame, token.text));
    } else if (token.kind === "variable" && frame.kind === "variables") {
      declared.add(token.text);
    } else {
      if (frame.kind === "document" && DEFINITIONS.includes(token.text)) declared.clear();
      advance(schema, frame, token, previous);
    }
    previous = token.text;
  }
  return { ...stack.at(-1), previous, declared };
}

/** The frame that a bracket opens inside another frame. */
function opened(schema, frame, bracket) {
  if (frame.kind === "document") {
    if (bracket === "(") return { kind: "variables" };
    return { kind: "selection", type: frame.type ?? schema.roots.query };
  }
  if (frame.kind === "selection") {
    if (bracket === "(") {
      const inputs = (frame.directive ?? frame.field)?.args ?? [];
      return { kind: "inputs", inputs, used: new Set() };
    }
    const spread = frame.spread;
    frame.spread = undefined;
    const type = spread ?? (frame.field && namedType(frame.field.type));
    return { kind: "selection", type };
  }
  if (frame.kind === "variables") return { kind: "variables" };
  if (frame.input && bracket === "[") return { kind: "list", input: frame.input };
  const inputs = frame.input && schema.type(namedType(frame.input.type))?.inputFields;
  return { kind: "inputs", inputs: inputs ?? [], used: new Set() };
}

/** Updates the frame with a token that isn't a bracket. */
function advance(schema, frame, token, previous) {
  if (frame.kind === "document") {
    if (DEFINITIONS.includes(token.text)) frame.type = schema.roots[token.text];
    else if (previous === "on") frame.type = token.text;
  } else if (frame.kind === "selection") {
    if (token.text === "...") frame.spread = frame.type;
    else if (previous === "on" && frame.spread) frame.spread = token.text;
    else if (token.kind === "directive") {
      frame.directive = schema.directives.find(({ name }) => `@${name}` === token.text);
    } else if (token.kind === "name" && token.text !== "on" && previous !== "...") {
      frame.field = schema.field(frame.type, token.text);
      frame.directive = undefined;
      frame.spread = undefined;
    }
  } else if (frame.kind === "inputs") {
    if (token.kind === "name" && !frame.input) {
      frame.pending = token.text;
      frame.used.add(token.text);
    } else if (token.text === ":") {
      frame.input = frame.inputs.find(({ name }) => name === frame.pending);
    } else {
      frame.input = undefined;
    }
  }
}

const offer = (text, detail, about = {}) => ({
  text,
  insert: text,
  detail,
  description: about.description ?? "",
  isDeprecated: about.isDeprecated ?? false,
});

function offersInSelection(schema, frame) {
  if (frame.previous === "...") return [offer("on", "fragment on a type")];
  if (frame.previous === "on" && frame.spread) {
    const possible = schema.type(frame.type)?.possibleTypes ?? [];
    return possible.map(({ name }) => offer(name, "type", schema.type(name)));
  }
  const fields = schema.fields(frame.type);
  const offers = fields.map((field) => offer(field.name, typeText(field.type), field));
  if (frame.type)
    offers.push(offer("__typename", "String!", { description: "The object's type." }));
  return offers;
}

function offersForInputs(frame) {
  const open = frame.inputs.filter(({ name }) => !frame.used.has(name));
  const sorted = open.sort((one, other) => isRequired(other) - isRequired(one));
  return sorted.map((input) => ({
    ...offer(input.name, typeText(input.type), input),
    insert: `${input.name}: `,
  }));
}

function offersForValue(schema, frame) {
  const type = schema.type(namedType(frame.input.type));
  const variables = [...frame.declared].map((name) => offer(name, "variable"));
  if (type?.name === "Boolean") return [...variables, offer("true", ""), offer("false", "")];
  return [...variables, ...(type?.enumValues ?? []).map((value) => offer(value.name, "", value))];
}

function offersAt(schema, frame) {
  if (frame.kind === "selection") return offersInSelection(schema, frame);
  if ((frame.kind === "inputs" || frame.kind === "list") && frame.input) {
    return offersForValue(schema, frame);
  }
  if (frame.kind === "inputs") return offersForInputs(frame);
  if (frame.kind === "variables" && [":", "["].includes(frame.previous)) {
    const kinds = ["SCALAR", "ENUM", "INPUT_OBJECT"];
    const inputs = schema.ownTypes().filter(({ kind }) => kinds.includes(kind));
    return inputs.map((type) => offer(type.name, "type", type));
  }
  if (frame.kind === "document") {
    if (frame.previous === "on") {
      const composite = schema.ownTypes().filter(({ name }) => schema.isComposite(name));
      return composite.map((type) => offer(type.name, "type", type));
    }
    if (frame.previous === "" || frame.previous === "}") {
      const known = DEFINITIONS.filter((kind) => kind === "fragment" || schema.roots[kind]);
      return known.map((kind) => offer(kind, ""));
    }
  }
  return [];
}

/**
 * Completions for the word that ends at `offset`: `{from, to, offers}`. Offers that begin with the word
 * come before those that only contain it.
 */
export function completionsAt(schema, text, offset) {
  const tokens = graphqlTokens(text).filter((token) => token.start < offset);
  const last = tokens.at(-1);
  if (last && ["comment", "string", "block"].includes(last.kind) && last.end >= offset) {
    return { from: offset, to: offset, offers: [] };
  }
  const isWord = last?.end >= offset && ["name", "variable", "directive"].includes(last.kind);
  const from = isWord ? last.start : offset;
  const word = text.slice(from, offset);
  const before = tokens.filter((token) => isSignificant(token) && token.start < from);
  const offers =
    word[0] === "@"
      ? schema.directives.map((directive) => offer(`@${directive.name}`, "directive", directive))
      : offersAt(schema, frameAt(schema, before));
  return { from, to: offset, offers: matching(offers, word) };
}

function matching(offers, word) {
  const wanted = word.toLowerCase();
  const place = ({ text }) => text.toLowerCase().indexOf(wanted);
  const found = offers.filter((each) => place(each) >= 0);
  return found.sort((one, other) => Math.min(place(one), 1) - Math.min(place(other), 1));
}
