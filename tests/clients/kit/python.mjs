// Python programs of the suites, each in an environment of its own.

import { execFile } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { CannotRun } from "./checks.mjs";
import { here, world } from "./world.mjs";

/** Folders of tests/clients whose requirements.txt has the versions of Python packages. */
export const FOLDERS = ["fuzz", "guides"];

export const requirements = (name) => join(here, name, "requirements.txt");

/** Installs what a folder's requirements.txt names, unless it is there, and returns the folder of the programs. */
export async function installed(name) {
  const folder = join(world.scratch, `python-${name}`);
  const wanted = readFileSync(requirements(name), "utf8");
  const note = join(folder, "requirements.txt");
  if (!existsSync(note) || readFileSync(note, "utf8") !== wanted) {
    try {
      await promisify(execFile)("python3", ["-m", "venv", "--clear", folder]);
      await promisify(execFile)(join(folder, "bin", "pip"), ["install", "--quiet", "--no-deps", "-r", requirements(name)]);
    } catch ({ message }) {
      throw new CannotRun(`Python packages can't be installed: ${message}`);
    }
    writeFileSync(note, wanted);
  }
  return join(folder, "bin");
}
