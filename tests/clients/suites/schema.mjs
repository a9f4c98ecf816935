// The gate against breaking changes: schema.graphql may not break the clients of schema-baseline.graphql, but
// for what breaking-changes.json declares.
//
// When nothing undeclared breaks, the baseline is brought up to schema.graphql, so that what was added is
// guarded from the next change on; CI demands that it is committed.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { breakingChanges } from "../kit/schema_gate.mjs";
import { SCHEMA, altered, bareSchema } from "../kit/schema_text.mjs";
import { here } from "../kit/world.mjs";

export const title = "No breaking change of the schema";
export const packages = ["@graphql-inspector/core"];

const BASELINE = join(here, "schema-baseline.graphql");
/** `[{"change": what graphql-inspector calls it, "why": for whoever is hit by it}]`; entries stay. */
const DECLARED = join(here, "breaking-changes.json");

export async function run(checks) {
  const schema = readFileSync(SCHEMA, "utf8");
  await checks.check("schema.graphql breaks nobody, but as breaking-changes.json declares", async () => {
    const declared = JSON.parse(readFileSync(DECLARED, "utf8"));
    assert.ok(declared.every(({ change, why }) => change && why), "each entry has `change` and `why`");
    const known = new Set(declared.map(({ change }) => change));
    const baseline = readFileSync(BASELINE, "utf8");
    const breaking = await breakingChanges(baseline, schema);
    assert.deepEqual(breaking.filter((change) => !known.has(change)), []);
    if (baseline !== schema) writeFileSync(BASELINE, schema);
  });

  const before = bareSchema();
  const alterations = [
    ["a removed field", "type Person", "\n  name: String!", ""],
    ["a field of another type", "type Person", "name: String!", "name: Int!"],
    ["a field that may be null now", "type Person", "name: String!", "name: String"],
    ["a removed value of an enum", "enum CartPolicy", "\n  AT_CHECKOUT", ""],
    ["a new argument that must be given", "type Query", "stock(", "stock(shelf: Int!, "],
    ["a new field of an input that must be given", "input AddCartLineInput", "sku: ID!", "sku: ID!\n  size: Int!"],
    ["a removed member of a union", "union AddCartLineResult", " | InsufficientStock", ""],
  ];
  for (const [name, definition, from, to] of alterations) {
    await checks.check(`${name} is noticed`, async () =>
      assert.notDeepEqual(await breakingChanges(before, altered(before, definition, from, to)), []),
    );
  }
  await checks.check("a new field and a new argument that may be left out break nobody", async () => {
    const field = altered(before, "type Person", "name: String!", "name: String!\n  nickname: String");
    const argument = altered(field, "type Query", "stock(", "stock(shelf: Int, ");
    assert.deepEqual(await breakingChanges(before, argument), []);
  });
}
