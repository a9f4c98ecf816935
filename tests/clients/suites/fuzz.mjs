// schemathesis: operations made from schema.graphql, sound and broken ones, sent with an admin's token. None is
// answered with a status of 500 or above, nor with an error that is docgate's own.

import { execFile } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { installed } from "../kit/python.mjs";
import { account, newProduct, order } from "../kit/shop.mjs";
import { OwnGateway, field, here, root, world } from "../kit/world.mjs";

export const title = "schemathesis: no trouble inside, whatever is sent";
export const packages = ["schemathesis"];

/** How many operations each root field is asked in, at the most. */
const EXAMPLES = 40;
/** A product of the demo with a discussion. */
const DISCUSSED = "ALB-00004";

/** Ids of things of every kind, of which the operations then make use. */
async function ids([sold, ordered], url, token) {
  const one = async (query) => JSON.stringify(await field(query, {}, token, url)).match(/"id":"([^"]+)"/)[1];
  return Promise.all([
    one(`{ product(sku: "${sold}") { id } }`),
    one('mutation { createPerson(input: {name: "Nobody Else"}) { ... on Person { id } } }'),
    one("{ categories { nodes { id } } }"),
    one(`{ product(sku: "${DISCUSSED}") { discussion { comments(first: 1) { nodes { id } } } } }`),
    one('mutation { openCart(input: {policy: RESERVE, currency: "EUR"}) { ... on Cart { id } } }'),
    one('mutation { openAccount(input: {currency: "EUR"}) { ... on Account { id } } }'),
    order(ordered),
    account(),
  ]);
}

export async function run(checks) {
  const schemathesis = join(await installed("fuzz"), "schemathesis");
  const gateway = new OwnGateway({ DOCGATE_REQUESTS_PER_SECOND: "0" });
  await gateway.begin();
  const url = `${gateway.url}/graphql`;
  const token = gateway.token("fuzz", ["admin"]);
  const folder = join(world.scratch, "fuzz");
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(here, "fuzz", "schemathesis.toml"), join(folder, "schemathesis.toml"));
  const skus = await Promise.all([1, 2, 3, 4].map((number) => newProduct(`fuzz${number}`)));
  const lines = (values) => values.map((value) => `${JSON.stringify(value)}\n`).join("");
  writeFileSync(join(folder, "skus.txt"), lines(skus));
  writeFileSync(join(folder, "ids.txt"), lines(await ids(skus, url, token)));
  const report = join(folder, "report.xml");
  rmSync(report, { force: true });
  // prettier-ignore
  const options = [
    "run", join(root, "schema.graphql"),
    "--url", url,
    "--header", `Authorization: Bearer ${token}`,
    "--checks", "no_trouble_inside",
    "--max-examples", String(EXAMPLES),
    "--seed", "1",
    "--continue-on-failure",
    "--generation-database", "none",
    "--request-timeout", "40",
    "--report-junit-path", report,
    "--warnings", "off",
    "--no-color",
  ];
  const env = { ...process.env, SCHEMATHESIS_HOOKS: "hooks", PYTHONPATH: join(here, "fuzz"), PYTHONDONTWRITEBYTECODE: "1" };
  const how = { cwd: folder, env, maxBuffer: 1 << 26, timeout: 2_400_000 };
  // That a check failed is in the report.
  const { stdout, stderr, killed } = await promisify(execFile)(schemathesis, options, how).catch((fault) => fault);
  writeFileSync(join(folder, "said.txt"), `${stdout}${stderr}`);
  await gateway.end("SIGKILL");
  if (killed) throw new Error(`schemathesis didn't end in ${how.timeout / 1_000} seconds`);
  if (!existsSync(report)) throw new Error(`schemathesis wrote no report:\n${stdout}${stderr}`);
  for (const { name, failure } of cases(readFileSync(report, "utf8"))) {
    await checks.check(`\`${name}\``, async () => {
      if (failure) throw new Error(failure);
    });
  }
}

/** Root fields with what went wrong, from a report in JUnit's format. */
function cases(report) {
  const found = report.matchAll(/<testcase name="([^"]+)"[^>]*?(?:\/>|>([\s\S]*?)<\/testcase>)/g);
  return [...found].map(([, name, inside]) => ({ name, failure: inside })).sort((a, b) => (a.name < b.name ? -1 : 1));
}
