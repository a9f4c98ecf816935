// graphql-codegen: what it makes of schema.graphql compiles with everything that TypeScript can demand, and
// goes shopping with real tokens.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { idempotencyKey, receive } from "../kit/shop.mjs";
import { graphqlUrl, here, world } from "../kit/world.mjs";

export const title = "graphql-codegen: typed operations go shopping";
export const packages = ["@graphql-codegen/cli", "@graphql-codegen/client-preset", "typescript"];

const TRIP = join(here, "trip");

/** Runs a package's program; what it says is in the error when it fails. */
const program = (name, ...options) =>
  promisify(execFile)(join(here, "node_modules", ".bin", name), options, { cwd: here }).catch(
    ({ stdout, stderr }) => {
      throw new Error(`${name}: ${stdout}${stderr}`);
    },
  );

export async function run(checks) {
  rmSync(join(TRIP, "generated"), { recursive: true, force: true });
  rmSync(join(TRIP, "build"), { recursive: true, force: true });
  await checks.check("types are generated from schema.graphql", () =>
    program("graphql-codegen", "--config", "trip/codegen.json"),
  );
  await checks.check("`tsc --strict` compiles them and the trip", () => program("tsc", "-p", "trip"));
  await checks.check("`tsc --strict` notices a refusal that the schema doesn't have", async () => {
    const text = readFileSync(join(TRIP, "trip.ts"), "utf8");
    const other = join(TRIP, "other.ts");
    writeFileSync(other, text.replace('case "InsufficientStock":', 'case "SoldOut":'));
    const options = ["--strict", "--module", "nodenext", "--noEmit", other];
    await assert.rejects(program("tsc", ...options), /SoldOut/);
    rmSync(other);
  });
  await checks.check("the trip ends with a paid order", async () => {
    for (const sku of ["ALB-00007", "ALB-00008"]) await receive(sku);
    const { trip } = await import(join(TRIP, "build", "trip.js"));
    const { shopper, admin } = world.tokens;
    const souvenir = await trip({ url: graphqlUrl, shopper, admin, idempotencyKey });
    assert.equal(souvenir.state, "PLACED");
    assert.ok(souvenir.paid > 0 && souvenir.orders > 0);
    assert.equal(souvenir.quantities["ALB-00007"], 2);
    assert.ok(souvenir.titles["ALB-00007"], "a line has its product");
  });
}
