/** Generates a first operation for a field of a root type. */

import { isRequired, namedType, typeText } from "./schema.js";

const INDENT = "  ";
/** Maximum nesting depth of generated objects; the wrappers of a list don't count. */
const DEPTH = 3;
const isWrapping = (typeName) => /(Connection|Edge)$/.test(typeName);

/** `{query, variables}` that selects the field's leaves; required arguments become variables. */
export function skeleton(schema, kind, field) {
  const needed = field.args.filter(isRequired);
  const definitions = needed.map((input) => `$${input.name}: ${typeText(input.type)}`).join(", ");
  const passed = needed.map((input) => `${input.name}: $${input.name}`).join(", ");
  const name = field.name[0].toUpperCase() + field.name.slice(1);
  const selection = selectionOf(schema, namedType(field.type), 0, INDENT);
  const query = `${kind} ${name}${definitions && `(${definitions})`} {
${INDENT}${field.name}${passed && `(${passed})`}${selection}
}
`;
  const variables = Object.fromEntries(
    needed.map((input) => [input.name, exampleOf(schema, input.type, 0)]),
  );
  return { query, variables };
}

function selectionOf(schema, typeName, outer, indent) {
  const type = schema.type(typeName);
  const depth = isWrapping(typeName) ? outer : outer + 1;
  if (!schema.isComposite(typeName) || depth > DEPTH) return "";
  const inner = indent + INDENT;
  const lines =
    type.kind === "UNION"
      ? memberLines(schema, type, depth, inner)
      : fieldLines(schema, type, depth, inner, new Map());
  if (type.kind !== "OBJECT" || lines.length === 0) lines.unshift("__typename");
  return block(lines, indent);
}

const block = (lines, indent) =>
  ` {\n${lines.map((line) => indent + INDENT + line).join("\n")}\n${indent}}`;

function memberLines(schema, union, depth, indent) {
  const written = new Map();
  return union.possibleTypes.map(({ name }) => {
    const lines = fieldLines(schema, schema.type(name), depth, indent + INDENT, written);
    return `... on ${name}${block(lines.length > 0 ? lines : ["__typename"], indent)}`;
  });
}

/**
 * `written` has the types of the fields that other members of the union return. A response key can't
 * have two types, so a later field of another type gets an alias.
 */
function fieldLines(schema, type, depth, indent, written) {
  const lines = [];
  const hasNodes = type.fields.some(({ name }) => name === "nodes");
  for (const field of type.fields) {
    const name = namedType(field.type);
    // Edges repeat the nodes beside them; nested connections are left to separate queries.
    if ((hasNodes && field.name === "edges") || (depth > 0 && name.endsWith("Connection")))
      continue;
    const selection = selectionOf(schema, name, depth, indent);
    const isBare = schema.isComposite(name) && !selection;
    if (field.isDeprecated || field.args.some(isRequired) || isBare) continue;
    const text = typeText(field.type);
    const isTaken = (written.get(field.name) ?? text) !== text;
    if (!isTaken) written.set(field.name, text);
    lines.push(`${isTaken ? `${field.name}Of${type.name}: ` : ""}${field.name}${selection}`);
  }
  return lines;
}

/** A value of each scalar that takes no empty text. */
const EXAMPLES = {
  Int: 1,
  Long: 1,
  Float: 1,
  Boolean: true,
  CurrencyCode: "EUR",
  Date: "2026-01-31",
  DateTime: "2026-01-31T12:00:00Z",
  LocaleTag: "en",
  Slug: "a-slug",
};

/** A placeholder value of the right shape. */
function exampleOf(schema, reference, depth) {
  if (reference.kind === "NON_NULL") return exampleOf(schema, reference.ofType, depth);
  if (reference.kind === "LIST") return [exampleOf(schema, reference.ofType, depth)];
  const type = schema.type(reference.name);
  if (type?.kind === "ENUM") return type.enumValues[0].name;
  if (type?.kind === "INPUT_OBJECT" && depth < 4) {
    const required = type.inputFields.filter(isRequired);
    // If no field is required, usually one of them is needed, as in inputs that look something up.
    const needed = required.length > 0 ? required : type.inputFields.slice(0, 1);
    return Object.fromEntries(
      needed.map((input) => [input.name, exampleOf(schema, input.type, depth + 1)]),
    );
  }
  return EXAMPLES[reference.name] ?? "";
}
