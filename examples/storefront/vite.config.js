import { readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { defineConfig } from "vite";

/** Where docgate runs while the app is developed. */
const GATEWAY = process.env.DOCGATE_URL ?? "http://127.0.0.1:8080";

/** Writes a gzipped copy of each file, from where cargo takes them into docgate, and the licences of what is in it. */
function embedded() {
  const packages = new Set();
  let folder;
  return {
    name: "embedded",
    apply: "build",
    configResolved: (config) => void (folder = join(config.root, config.build.outDir)),
    generateBundle(_, files) {
      const modules = Object.values(files).flatMap((file) => Object.keys(file.modules ?? {}));
      for (const path of modules) {
        const found = path.match(/.*node_modules\/(@[^/]+\/)?[^/]+/);
        if (found) packages.add(found[0].replace(/^\0/, ""));
      }
    },
    // The app comes with the first script, which only begins to load it.
    transformIndexHtml: {
      order: "post",
      handler: (_, { bundle }) =>
        Object.values(bundle)
          .filter(({ isDynamicEntry }) => isDynamicEntry)
          .map(({ fileName }) => ({
            tag: "link",
            attrs: { rel: "modulepreload", crossorigin: true, href: `/shop/${fileName}` },
            injectTo: "head",
          })),
    },
    async closeBundle() {
      await writeFile(join(folder, "licenses.txt"), await licenses([...packages].sort()));
      const names = (await readdir(folder)).filter((name) => !name.endsWith(".gz"));
      // The page comes last: cargo takes the folder only with it.
      names.sort((one, other) => Number(one === "index.html") - Number(other === "index.html"));
      await rm(join(folder, "index.html.gz"), { force: true });
      for (const name of names) {
        const zipped = gzipSync(await readFile(join(folder, name)), { level: 9 });
        await writeFile(join(folder, `${name}.gz`), zipped);
      }
    },
  };
}

async function licenses(folders) {
  const texts = folders.map(async (folder) => {
    const about = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((name) => /^licen[cs]e/i.test(name));
    const text = file ? await readFile(join(folder, file), "utf8") : "";
    return `==== ${about.name} ${about.version} (${about.license})\n\n${text.trim()}\n`;
  });
  return (await Promise.all(texts)).join("\n");
}

export default defineConfig({
  base: "/shop/",
  esbuild: { jsx: "automatic", legalComments: "none" },
  // All files lie side by side, as docgate embeds them. Nothing is inlined, because the content policy forbids it.
  build: { target: "es2022", assetsDir: "", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  plugins: [embedded()],
  server: { proxy: { "/graphql": GATEWAY, "/assets": GATEWAY, "/feeds": GATEWAY } },
});
