// The guides of docs/guides: their programs are taken from the pages, and run.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { buildSchema, parse, validate } from "graphql";
import { build, preview } from "vite";

import { Page } from "../kit/browser.mjs";
import { eventually } from "../kit/checks.mjs";
import { files, pages, text, withPackages, written } from "../kit/guides.mjs";
import { installed } from "../kit/python.mjs";
import { SCHEMA } from "../kit/schema_text.mjs";
import { receive } from "../kit/shop.mjs";
import { OwnGateway, ask, here, ordinaryEnvironment, root, world } from "../kit/world.mjs";

export const title = "The guides of docs/guides";
export const packages = ["react", "@apollo/client", "urql", "vite", "ariadne-codegen"];

/** Pages with files that no test runs, because their tools can't be installed where the tests run. */
const NOT_RUN = ["kotlin", "swift"];
/** The page whose program tests/clients.rs runs, because cargo builds it. */
const ELSEWHERE = "rust";
const RUN = { python, "react-apollo": react, "react-urql": react, "your-own-data": ownData };

export async function run(checks) {
  await checks.check("each page with a program is run, or says that it isn't", async () => {
    const withFiles = pages().filter((page) => files(page).length > 0);
    assert.deepEqual(withFiles, [...NOT_RUN, ELSEWHERE, ...Object.keys(RUN)].sort());
    for (const page of NOT_RUN) assert.match(text(page), /no test runs it/);
  });
  await checks.check("operations of the guides, the other pages and the README fit the schema", operations);
  for (const [page, steps] of Object.entries(RUN)) await steps(checks, page);
}

/**
 * Operations that stand in files of their own or in blocks; those in programs are tested by what runs them. A block of
 * type definitions is the schema of somebody else's subgraph.
 */
async function operations() {
  const schema = buildSchema(readFileSync(SCHEMA, "utf8"));
  let checked = 0;
  const others = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`);
  const read = (name) => [name, readFileSync(join(root, name), "utf8")];
  const texts = [...pages().map((page) => [page, text(page)]), ...["README.md", ...others].map(read)];
  for (const [page, text] of texts) {
    for (const [, operation] of text.matchAll(/^```graphql\n([^]*?)^```$/gm)) {
      const document = parse(operation);
      if (document.definitions.some(({ kind }) => kind === "ObjectTypeDefinition")) continue;
      const faults = validate(schema, document).map(({ message }) => message);
      assert.deepEqual(faults, [], page);
      checked += 1;
    }
  }
  assert.ok(checked >= NOT_RUN.length, `${checked} blocks`);
}

/** Runs a program to its end; what it says is in the error when it fails. */
async function program(path, options, settings) {
  try {
    return (await promisify(execFile)(path, options, settings)).stdout;
  } catch ({ message, stdout, stderr }) {
    throw new Error(`${path}: ${message}\n${stdout}${stderr}`);
  }
}

/** A single-page app: its types are generated and checked, and then somebody uses it. */
async function react(checks, page) {
  const folder = written(page);
  withPackages(folder);
  const tool = (name) => program(join(here, "node_modules", ".bin", name), [], { cwd: folder });
  await checks.check(`${page}: its documents have types, and \`tsc\` has no complaint`, async () => {
    await tool("graphql-codegen");
    await tool("tsc");
  });
  writeFileSync(join(folder, ".env.local"), `VITE_TOKEN=${world.tokens.shopper}\n`);
  await build({ root: folder, logLevel: "error" });
  const server = await preview({ root: folder, preview: { port: 0, host: "127.0.0.1" }, logLevel: "error" });
  try {
    const own = await Page.open("/", { url: server.resolvedUrls.local[0].replace(/\/$/, "") });
    await shopping(checks, page, own);
    await own.close();
  } finally {
    server.httpServer.closeAllConnections();
    await server.close();
  }
}

async function shopping(checks, name, { page }) {
  await checks.check(`${name}: a list goes on with its next page`, async () => {
    await page.locator("li").nth(9).waitFor();
    await page.getByRole("button", { name: "More" }).click();
    await page.locator("li").nth(19).waitFor();
    const titles = await page.locator("li").allTextContents();
    assert.deepEqual([titles.length, new Set(titles).size], [20, 20]);
    assert.match(await page.locator("h1").textContent(), /^\d+ products$/);
  });
  await checks.check(`${name}: the stock of a product is live`, async () => {
    await page.locator("li button").first().click();
    const stock = page.locator("output", { hasText: /\d/ });
    const before = await stock.textContent();
    const [sku] = (await page.locator("section p").first().textContent()).split(":");
    await receive(sku, 3);
    // Other suites may change it too.
    await eventually(async () => (await stock.textContent()) !== before);
  });
  await checks.check(`${name}: a piece is put into a cart`, async () => {
    await page.getByRole("button", { name: "Add to cart" }).click();
    await page.getByRole("status").getByText("In your cart. Total: €").waitFor();
  });
  await checks.check(`${name}: a refusal is a typed result`, async () => {
    await page.locator("input").fill("9999");
    await page.getByRole("button", { name: "Add to cart" }).click();
    await page.getByRole("status").getByText(/^There are only \d+\.$/).waitFor();
  });
  await checks.check(`${name}: an error is shown with its code`, async () => {
    await page.route("**/graphql", (route) => {
      const headers = { ...route.request().headers(), authorization: "Bearer not.a.token" };
      return route.continue({ headers });
    });
    await page.reload();
    await page.getByRole("alert").getByText("UNAUTHENTICATED: ").waitFor();
  });
}

/** What a program in a terminal has to say, whatever language it is in. */
const TERMINAL = [
  /^\d+ products$/m,
  /^page 2: /m,
  /^In your cart: 1 piece, €[\d.,]+$/m,
  /^The same key again: 1 piece$/m,
  /^There are only \d+\.$/m,
  /^UNAUTHENTICATED: /m,
  /^Stock: \d+$/m,
];

const says = (said) => {
  for (const line of TERMINAL) assert.match(said, line);
};

async function python(checks, page) {
  const bin = await installed("guides");
  const folder = written(page);
  const env = { ...process.env, SHOPPER: world.tokens.shopper, PYTHONDONTWRITEBYTECODE: "1" };
  const settings = { cwd: folder, env };
  await checks.check(`${page}: a typed client is made of its operations`, async () => {
    const schema = readFileSync(SCHEMA);
    writeFileSync(join(folder, "schema.graphql"), schema);
    await program(join(bin, "ariadne-codegen"), [], settings);
  });
  const shop = () => program(join(bin, "python"), ["shop.py"], settings);
  // The generated client waits for five seconds, which a busy machine may exceed several times.
  const isLate = ({ message }) => /Timeout|not received within/.test(message);
  const inTime = async (tries) => {
    try {
      return await shop();
    } catch (fault) {
      if (tries === 0 || !isLate(fault)) throw fault;
      return inTime(tries - 1);
    }
  };
  await checks.check(`${page}: its program goes shopping`, async () => says(await inTime(10)));
}

/** The page's commands with the page's files, in a database of their own beside the demo's. */
async function ownData(checks, page) {
  const folder = written(page);
  const settings = { DOCGATE_CONFIG: join(folder, "docgate.toml"), DOCGATE_DATABASE: `guide_${process.pid}` };
  const env = { ...ordinaryEnvironment(), ...settings, DOCGATE_MONGODB_URI: world.mongodb };
  await checks.check(`${page}: its files are imported by its commands`, async () => {
    const commands = [...text(page).matchAll(/^    docgate ((?:indexes|import) .*)$/gm)];
    assert.equal(commands.length, 6);
    for (const [, command] of commands) await program(world.binary, command.split(" "), { cwd: folder, env });
  });
  const gateway = new OwnGateway(settings);
  await gateway.begin();
  try {
    await checks.check(`${page}: its query shows what was imported`, async () => {
      const [, query] = /^```graphql\n([^]*?)^```$/m.exec(text(page));
      const { data, errors } = await ask(query, {}, undefined, `${gateway.url}/graphql`);
      assert.equal(errors, undefined);
      const lamps = data.products.nodes.map(({ sku, availability, contributors }) => [sku, availability, contributors[0].name]);
      assert.deepEqual(lamps, [
        ["LAMP-1", "IN_STOCK", "Ines Hale"],
        ["LAMP-2", "LOW", "Ines Hale"],
      ]);
    });
  } finally {
    await gateway.end();
  }
}
