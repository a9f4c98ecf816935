// docs/CONFORMANCE.md: a table of the suites, and below it each check with its result. A run replaces what it
// says of the suites that ran, and leaves the others as they were.

import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { FOLDERS, requirements } from "./python.mjs";
import { here, root, world } from "./world.mjs";

const FILE = join(root, "docs", "CONFORMANCE.md");

const HEAD = `# Conformance

What other people's clients and suites say of docgate. This file is written by \`cargo test --test clients\`, which
runs them against the built binary on a real MongoDB; how is in [tests/clients](../tests/clients/README.md). Versions are
those of the lock files.

`;

const mark = (name) => `<!-- suite: ${name} -->`;

/** Versions of packages, as the lock files have them. */
export function versions(packages) {
  const locked = JSON.parse(readFileSync(join(here, "package-lock.json"), "utf8")).packages;
  const pinned = FOLDERS.map((name) => readFileSync(requirements(name), "utf8")).join("");
  const version = (name) =>
    locked[`node_modules/${name}`]?.version ?? new RegExp(`^${name}==(\\S+)`, "m").exec(pinned)[1];
  return packages.map((name) => `${name} ${version(name)}`).join(", ");
}

/** Writes down what a suite has found; `order` names all suites as they shall stand. */
export function record(name, suite, checks, order) {
  alone(() => replace(name, suite, checks, order));
}

/** Does something that no other suite does at the same time. A lock older than a minute was left by a killed one. */
function alone(act) {
  const folder = join(world.scratch, "conformance.lock");
  const isOld = () => Date.now() - (statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > 60_000;
  for (;;) {
    try {
      mkdirSync(folder);
      break;
    } catch (fault) {
      if (fault.code !== "EEXIST") throw fault;
      if (isOld()) rmSync(folder, { recursive: true, force: true });
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
  try {
    act();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function replace(name, { title, packages }, checks, order) {
  const parts = existsSync(FILE) ? read(readFileSync(FILE, "utf8")) : new Map();
  const row = `| [${title}](#${anchor(title)}) | ${versions(packages)} | ${checks.passed} | ${checks.failed} |`;
  const lines = checks.results.map(({ name, passed }) => `| ${cell(name)} | ${passed ? "passed" : "**failed**"} |`);
  const section = [`## ${title}`, "", "| check | result |", "|---|---|", ...lines].join("\n");
  parts.set(name, { row, section });
  const known = order.filter((suite) => parts.has(suite));
  const rows = known.map((suite) => parts.get(suite).row);
  const sections = known.map((suite) => `${mark(suite)}\n${parts.get(suite).section}\n`);
  const table = ["| suite | with | passed | failed |", "|---|---|---|---|", ...rows].join("\n");
  writeFileSync(FILE, `${HEAD}${table}\n\n${sections.join("\n")}`);
}

/** Rows and sections of the file, by suite. */
function read(text) {
  const [head, ...rest] = text.split(/^<!-- suite: (\w+) -->\n/m);
  const rows = head.split("\n").filter((line) => line.startsWith("| ["));
  const parts = new Map();
  for (let at = 0; at < rest.length; at += 2) {
    parts.set(rest[at], { row: rows[at / 2], section: rest[at + 1].trimEnd() });
  }
  return parts;
}

/** The name of a heading's place in the page. */
const anchor = (title) =>
  title.toLowerCase().replace(/[^\p{Letter}\p{Number} _-]/gu, "").replaceAll(" ", "-");

const cell = (text) => text.replaceAll("|", "\\|").replaceAll("{", "\\{");
