// Relay: its compiler reads the schema, finds the conventions that it needs, and has nothing to change in the
// artefacts of relay/; what it compiled is answered by the gateway.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { altered, bareSchema } from "../kit/schema_text.mjs";
import { OwnGateway, field, here, world } from "../kit/world.mjs";

export const title = "Relay: compiler and artefacts";
export const packages = ["relay-compiler"];

const RELAY = join(here, "relay");

/** Runs the compiler on relay/, or on a copy of it. */
const compile = (folder, ...options) =>
  promisify(execFile)(join(here, "node_modules", ".bin", "relay-compiler"), options, { cwd: folder });

/** A copy of relay/ with another schema, and with more settings. */
function copyWith(schema, more = {}) {
  const folder = mkdtempSync(join(world.scratch, "relay-"));
  cpSync(RELAY, folder, { recursive: true });
  writeFileSync(join(folder, "schema.graphql"), schema);
  const config = join(folder, "relay.config.json");
  const settings = JSON.parse(readFileSync(config, "utf8"));
  writeFileSync(config, JSON.stringify({ ...settings, schema: "./schema.graphql", ...more }));
  return folder;
}

/** The text that Relay sends for an operation. */
function compiledText(operation) {
  const artefact = readFileSync(join(RELAY, "__generated__", `${operation}.graphql.js`), "utf8");
  return JSON.parse(/"text": (".*")/.exec(artefact)[1]);
}

export async function run(checks) {
  await checks.check("`relay-compiler --validate` has nothing to change", () =>
    compile(RELAY, "--validate"),
  );
  await checks.check("`--validate` notices a schema in which a used field is missing", async () => {
    const folder = copyWith(altered(bareSchema(), "type Person", "\n  name: String!", ""));
    await assert.rejects(compile(folder, "--validate"), /The type `Person` has no field `name`/);
    rmSync(folder, { recursive: true });
  });
  const people = await field(compiledText("PeoplePageQuery"), { count: 2 });
  await checks.check("the next page of a `@connection` follows the first", async () => {
    const text = compiledText("PeopleListPaginationQuery");
    const next = await field(text, { count: 2, cursor: people.pageInfo.endCursor });
    const names = (page) => page.edges.map(({ node }) => node.id);
    assert.equal(new Set([...names(people), ...names(next)]).size, 4);
  });
  await checks.check("a `@refetchable` fragment is fetched again through `node`", async () => {
    const { id, name } = people.edges[0].node;
    const node = await field(compiledText("PersonRefetchQuery"), { id });
    assert.deepEqual({ id: node.id, name: node.name }, { id, name });
  });
  await checks.check("`node` gives what `id` names, for each type of the query", async () => {
    const product = await field("{ product(sku: \"ALB-00006\") { id } }");
    const node = await field(compiledText("ProductNodeQuery"), { id: product.id });
    assert.equal(node.__typename, "Album");
    assert.equal(node.sku, "ALB-00006");
  });
  await checks.check("what the compiler persists are trusted documents, and nothing else is", async () => {
    const folder = copyWith(bareSchema(), { persistConfig: { file: "./persisted.json" } });
    writeFileSync(join(folder, "persisted.json"), "{}");
    await compile(folder);
    const persisted = join(folder, "persisted.json");
    const [[documentId]] = Object.entries(JSON.parse(readFileSync(persisted, "utf8"))).filter(([, text]) =>
      text.startsWith("query PeoplePageQuery"),
    );
    const gateway = new OwnGateway({ DOCGATE_DOCUMENTS: persisted, DOCGATE_DOCUMENTS_MODE: "only" });
    await gateway.begin();
    const asked = async (body) => {
      const headers = { "content-type": "application/json" };
      const answer = await fetch(`${gateway.url}/graphql`, { method: "POST", headers, body: JSON.stringify(body) });
      return answer.json();
    };
    const known = await asked({ documentId, variables: { count: 2 } });
    assert.equal(known.data.people.edges.length, 2);
    const other = await asked({ query: "{ people(first: 2) { edges { node { id } } } }" });
    assert.ok(other.errors.length > 0 && !other.data, JSON.stringify(other));
    await gateway.end("SIGKILL");
    rmSync(folder, { recursive: true });
  });
}
