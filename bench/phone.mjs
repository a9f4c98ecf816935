#!/usr/bin/env node
// The storefront's first page on a phone: how long after the navigation it can be used, and what it loads.
//
// "Can be used" means that the first product is in the window and would take a touch at its middle, that the search field
// could be typed into, and that the page's thread has dealt with what came before. Each run has a browser of its own, so
// nothing is cached. After the time was taken, the run types into the field and waits for a suggestion, and touches the
// product and waits for its page, so that the time is of a page that works.
//
// Three profiles take turns, in the other order in every second round, all with a phone's window, touch and pixels:
//
// - `phone`: the processor is slowed down 4 times, and the network is "Fast 4G" of Chromium's tools;
// - `processor`: only the processor is slowed down;
// - `unthrottled`: neither.
//
// The target: the median of `phone` is below 1.5 s. docgate, MongoDB and the browser share the processors of the machine.
//
// It needs Chromium, Node 20, the packages of tests/clients, and a gateway that has the storefront in it:
//
//     (cd tests/clients && npm ci --ignore-scripts)
//     (cd examples/storefront && npm ci --ignore-scripts && npm run build)
//     cargo build --profile dist --locked
//     bench/phone.mjs
//
// It starts `docgate demo` with data in a folder of its own, and ends it. `--help` lists the options. The results are
// printed as JSON.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const OPTIONS = {
  docgate: { type: "string", default: join(ROOT, "target/dist/docgate") },
  url: { type: "string" },
  path: { type: "string", default: "/shop" },
  rounds: { type: "string", default: "9" },
  products: { type: "string", default: "5000" },
  chromium: { type: "string", default: process.env.CHROMIUM ?? "/usr/bin/chromium" },
  help: { type: "boolean", default: false },
};
const HELP = `bench/phone.mjs [--rounds 9] [--docgate PATH] [--products 5000] [--path /shop] [--chromium PATH]
bench/phone.mjs --url http://127.0.0.1:8080    of a demo that runs already
`;

/** "Fast 4G" of Chromium's tools: 9 and 1.5 Mbit/s less a tenth, and the latency that they add to each request. */
const FAST_4G = { latency: 165, downloadThroughput: 9e6 / 8 * 0.9, uploadThroughput: 1.5e6 / 8 * 0.9 };
const PROFILES = {
  phone: { processor: 4, network: FAST_4G },
  processor: { processor: 4 },
  unthrottled: { processor: 1 },
};
/** In milliseconds. */
const TARGET = 1_500;
const PATIENCE = 60_000;
const ARGUMENTS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];
const CARD = ".cards .card";
const FIELD = ".search input";

class Trouble extends Error {}

/** Runs in the page, before its own scripts: notes when it can first be used. */
function watch([card, field]) {
  const takesTouch = (element) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    // What of it is in the window.
    const bottom = Math.min(top + height, innerHeight);
    const at = document.elementFromPoint(left + width / 2, (Math.max(top, 0) + bottom) / 2);
    return width > 0 && height > 0 && bottom > top && at !== null && element.contains(at);
  };
  const look = () => {
    const [first, input] = [document.querySelector(card), document.querySelector(field)];
    if (!first || !input || input.disabled || !takesTouch(first) || !takesTouch(input)) return requestAnimationFrame(look);
    const { port1, port2 } = new MessageChannel();
    // A message waits for the frame, and for tasks that came before it.
    port1.onmessage = () => (window.usableAt ??= performance.now());
    port2.postMessage(null);
  };
  requestAnimationFrame(look);
  new PerformanceObserver((list) => {
    for (const { startTime } of list.getEntries()) window.largestAt = startTime;
  }).observe({ type: "largest-contentful-paint", buffered: true });
}

/** One visit of a browser of its own. */
async function visit({ chromium, devices }, options, url, { processor, network }) {
  const browser = await chromium.launch({ executablePath: options.chromium, args: ARGUMENTS });
  try {
    const page = await (await browser.newContext(devices["Pixel 7"])).newPage();
    const faults = [];
    page.on("pageerror", (fault) => faults.push(String(fault)));
    const session = await page.context().newCDPSession(page);
    const sent = await listen(session);
    await session.send("Emulation.setCPUThrottlingRate", { rate: processor });
    if (network) await session.send("Network.emulateNetworkConditions", { offline: false, ...network });
    await page.addInitScript(watch, [CARD, FIELD]);
    await page.goto(`${url}${options.path}`, { waitUntil: "commit", timeout: PATIENCE });
    await page.waitForFunction(() => window.usableAt !== undefined, undefined, { timeout: PATIENCE });
    await page.waitForLoadState("networkidle", { timeout: PATIENCE });
    const times = await page.evaluate(() => ({
      "usable, ms": window.usableAt,
      "first paint, ms": performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null,
      "largest paint, ms": window.largestAt ?? null,
      timeOrigin: performance.timeOrigin,
    }));
    const { timeOrigin, ...found } = times;
    const requests = sent.map(({ at, ...request }) => ({ ...request, at: at - timeOrigin }));
    const before = requests.filter(({ at }) => at < found["usable, ms"]);
    await mustWork(page);
    if (faults.length) throw new Trouble(`the page has faults: ${faults.join("; ")}`);
    const bytes = (all) => all.reduce((sum, request) => sum + request.bytes, 0);
    return {
      ...found,
      "requests before": before.length,
      requests: requests.length,
      "KiB": bytes(requests) / 1024,
      "of scripts": bytes(requests.filter(({ kind }) => kind === "Script")) / 1024,
      "of pictures": bytes(requests.filter(({ kind }) => kind === "Image")) / 1024,
      "to the API": requests.filter(({ isApi }) => isApi).length,
    };
  } finally {
    await browser.close();
  }
}

/** The requests that the page sends, with the bytes of their responses as they came. */
async function listen(session) {
  const sent = [];
  const of = new Map();
  session.on("Network.requestWillBeSent", ({ requestId, request, type, wallTime }) => {
    if (!request.url.startsWith("http")) return;
    const one = { kind: type, at: wallTime * 1000, bytes: 0, isApi: new URL(request.url).pathname === "/graphql" };
    of.set(requestId, one);
    sent.push(one);
  });
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    const one = of.get(requestId);
    if (one) one.bytes = encodedDataLength;
  });
  await session.send("Network.enable");
  return sent;
}

/** That the field suggests, and that a touch opens the product. */
async function mustWork(page) {
  const title = await page.locator(`${CARD} .title`).first().textContent();
  await page.locator(FIELD).pressSequentially(title.slice(0, 4));
  await page.locator("[role=option]").first().waitFor({ timeout: PATIENCE });
  await page.locator(FIELD).fill("");
  await page.locator(FIELD).press("Escape");
  await page.locator(CARD).first().tap({ timeout: PATIENCE });
  await page.locator("h1", { hasText: title }).waitFor({ timeout: PATIENCE });
}

/** Starts a demo with data of its own; its address and how to end it. */
async function demo(options) {
  const data = await mkdtemp(join(tmpdir(), "docgate-phone-"));
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("DOCGATE_")));
  const given = ["demo", "--port", "0", "--data", data, "--products", options.products];
  const child = spawn(options.docgate, given, { env: environment, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit").catch((fault) => [fault.message]);
  const end = async () => {
    if (child.exitCode === null && child.pid) child.kill("SIGINT");
    await ended;
    await rm(data, { recursive: true, force: true });
  };
  const served = (async () => {
    for await (const line of createInterface({ input: child.stdout })) {
      const found = /^docgate's demo serves on (http:\S+)/.exec(line);
      if (found) return found[1];
    }
    return null;
  })();
  const url = await Promise.race([served, ended.then(() => null)]);
  if (url) {
    child.stdout.resume();
    return { url, end };
  }
  await end();
  throw new Trouble(`${options.docgate} doesn't start a demo`);
}

const median = (values) => {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

/** Median, least and most of each figure. */
function summary(runs) {
  const figures = Object.keys(runs[0]).map((name) => {
    const values = runs.map((run) => run[name]).filter((value) => value !== null);
    if (!values.length) return [name, null];
    const told = [median(values), Math.min(...values), Math.max(...values)].map((value) => Math.round(value * 10) / 10);
    return [name, told[1] === told[2] ? told[0] : { median: told[0], least: told[1], most: told[2] }];
  });
  return Object.fromEntries(figures);
}

async function measure(browsers, options, url) {
  const { status } = await fetch(`${url}${options.path}`);
  if (status === 404) throw new Trouble("the storefront isn't in this binary: build it, then docgate");
  const rounds = Number(options.rounds);
  const runs = Object.fromEntries(Object.keys(PROFILES).map((name) => [name, []]));
  // The first round isn't counted: docgate and MongoDB have the page's documents in memory afterwards.
  for (let round = 0; round <= rounds; round += 1) {
    const names = round % 2 ? Object.keys(PROFILES) : Object.keys(PROFILES).reverse();
    for (const name of names) {
      const found = await visit(browsers, options, url, PROFILES[name]);
      if (round) runs[name].push(found);
      process.stderr.write(`round ${round}, ${name}: usable after ${found["usable, ms"].toFixed(0)} ms\n`);
    }
  }
  const profiles = Object.fromEntries(Object.entries(runs).map(([name, all]) => [name, summary(all)]));
  const reached = median(runs.phone.map((run) => run["usable, ms"]));
  return { path: options.path, rounds, "target, ms": TARGET, reached: reached < TARGET, ...profiles };
}

async function main() {
  const { values: options } = parseArgs({ options: OPTIONS });
  if (options.help) return process.stdout.write(HELP);
  let browsers;
  try {
    browsers = createRequire(join(ROOT, "tests/clients/package.json"))("playwright-core");
  } catch {
    throw new Trouble("playwright-core isn't installed: (cd tests/clients && npm ci --ignore-scripts)");
  }
  const started = options.url ? { url: options.url, end: () => undefined } : await demo(options);
  const stop = () => Promise.resolve(started.end()).then(() => process.exit(130));
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    const found = await measure(browsers, options, started.url);
    process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
  } finally {
    await started.end();
  }
}

try {
  await main();
} catch (fault) {
  process.stderr.write(`bench: ${fault instanceof Trouble ? fault.message : fault.stack}\n`);
  process.exitCode = 1;
}
