// The text of the schema, to be altered in copies.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { parse, print, visit } from "graphql";

import { root } from "./world.mjs";

export const SCHEMA = join(root, "schema.graphql");

/** schema.graphql without its descriptions. */
export function bareSchema() {
  const enter = (node) => (node.description ? { ...node, description: undefined } : undefined);
  return print(visit(parse(readFileSync(SCHEMA, "utf8")), { enter }));
}

/** The schema with something else in the definition that begins like this. */
export function altered(schema, definition, from, to) {
  const [start, end] = [schema.indexOf(`${definition} `), schema.indexOf("\n}", schema.indexOf(`${definition} `))];
  const found = schema.slice(start, end);
  if (start < 0 || !found.includes(from)) throw new Error(`${definition} has no ${from}`);
  return schema.slice(0, start) + found.replace(from, to) + schema.slice(end);
}
