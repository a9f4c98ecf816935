/**
 * Builds GraphiQL into `dist/`, from where cargo takes it into the binary. Every file is gzipped. All
 * but the page itself and the licences have a hash of their contents in their names.
 */

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const DIST = "dist";

const common = {
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  outdir: DIST,
  target: "es2022",
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  loader: { ".ttf": "file" },
  // They are collected in licenses.txt instead.
  legalComments: "none",
  logLevel: "warning",
};

// What Monaco does beside the page: an editor's own work, JSON, and GraphQL.
const workers = await build({
  ...common,
  format: "iife",
  entryPoints: {
    editor: "monaco-editor/esm/vs/editor/editor.worker.js",
    json: "monaco-editor/esm/vs/language/json/json.worker.js",
    graphql: "monaco-graphql/esm/graphql.worker.js",
  },
});
const workerNames = ["editor", "json", "graphql"].map((name) => [name, output(workers, name, "js")]);

const page = await build({
  ...common,
  format: "esm",
  splitting: true,
  jsx: "automatic",
  entryPoints: { main: "main.jsx" },
  // Icons take their titles from the names of their functions.
  keepNames: true,
  // GraphiQL prettifies with these by their old names, under which there are no modules.
  alias: {
    "prettier/parser-babel": "prettier/plugins/babel",
    "prettier/parser-graphql": "prettier/plugins/graphql",
  },
  define: {
    "process.env.NODE_ENV": '"production"',
    "process.env.USE_IMPORT": '"true"',
    WORKERS: JSON.stringify(Object.fromEntries(workerNames)),
  },
});

await rm(DIST, { recursive: true, force: true });
await mkdir(DIST);
for (const { path, contents } of [...workers.outputFiles, ...page.outputFiles]) {
  // The page's one style sheet holds those of the parts that are loaded later, too.
  const isRepeated = path.endsWith(".css") && basename(path) !== output(page, "main", "css");
  if (!isRepeated) await write(basename(path), contents);
}
await write("licenses.txt", await licenses());
// The last one: cargo takes the folder only with it.
await write("index.html", await html());

/** Name of the file that an entry point has become. */
function output({ outputFiles }, name, extension) {
  const isIt = new RegExp(`^${name}-[0-9A-Z]+\\.${extension}$`);
  return outputFiles.map(({ path }) => basename(path)).find((file) => isIt.test(file));
}

/** The page, which names its script and its style sheet. */
async function html() {
  const text = await readFile("index.html", "utf8");
  return text.replace(/\bmain\.(js|css)\b/g, (_, extension) => output(page, "main", extension));
}

/** What the authors of the packages in it want to be told. */
async function licenses() {
  const inputs = [workers, page].flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const folders = inputs.map((path) => path.match(/.*node_modules\/(@[^/]+\/)?[^/]+/)?.[0]);
  const texts = [...new Set(folders)].sort().map(async (folder) => {
    if (!folder) return "";
    const { name, version, license } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
    const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|thirdparty)/i.test(file));
    const parts = await Promise.all(files.map((file) => readFile(`${folder}/${file}`, "utf8")));
    return [`==== ${name} ${version} (${license})`, ...parts.map((part) => part.trim())].join("\n\n");
  });
  return `${(await Promise.all(texts)).filter(Boolean).join("\n\n")}\n`;
}

function write(name, contents) {
  return writeFile(`${DIST}/${name}.gz`, gzipSync(contents, { level: 9 }));
}
