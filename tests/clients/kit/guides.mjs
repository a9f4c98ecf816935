// The code on the pages of docs/guides.

import { mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { here, root, world } from "./world.mjs";

const FOLDER = join(root, "docs", "guides");
/** A file's name in a line of its own, and its text in the block below. */
const FILE = /^`([^`\s]+)`:\n\n```(\w+)\n([^]*?)^```$/gm;
/** Where the pages say that the demo is. */
const DEMO = /127\.0\.0\.1:8080/g;

/** Names of all pages, without their ending. */
export const pages = () =>
  readdirSync(FOLDER)
    .filter((name) => name.endsWith(".md"))
    .map((name) => name.slice(0, -".md".length))
    .sort();

export const text = (page) => readFileSync(join(FOLDER, `${page}.md`), "utf8");

/** Files of a page as it prints them: `name`, `language`, and `text`. */
export function files(page) {
  const found = [...text(page).matchAll(FILE)];
  return found.map(([, name, language, text]) => ({ name, language, text }));
}

/** Writes a page's files, with the address of the gateway under test, and returns their folder. */
export function written(page) {
  const folder = join(world.scratch, "guides", page);
  rmSync(folder, { recursive: true, force: true });
  for (const { name, text } of files(page)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text.replace(DEMO, new URL(world.url).host));
  }
  return folder;
}

/** Lets a page's files use the packages of the lock file. */
export const withPackages = (folder) => symlinkSync(join(here, "node_modules"), join(folder, "node_modules"));
