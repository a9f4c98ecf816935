// A real browser that can reach nothing but the gateway.

import assert from "node:assert/strict";
import { accessSync, constants, mkdirSync } from "node:fs";
import { join } from "node:path";

import { chromium } from "playwright-core";

import { CannotRun } from "./checks.mjs";
import { world } from "./world.mjs";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";
const OPTIONS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // No name has an address: what a page asks of another host fails.
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/** One page of the gateway, and what it did besides showing. */
export class Page {
  /** Addresses on other hosts that it asked for. */
  foreign = [];
  /** What it complained of: exceptions, errors on the console, breaches of its content policy. */
  faults = [];
  #url;
  #context;

  /**
   * Opens a path of the gateway, which is the demo's if none is named, in a window of this size.
   * What is asked at the path `held` waits until `release()`.
   */
  static async open(path, { url = world.url, viewport = { width: 1400, height: 900 }, held } = {}) {
    try {
      accessSync(EXECUTABLE, constants.X_OK);
    } catch {
      throw new CannotRun(`there is no ${EXECUTABLE}; Debian's package is chromium, CHROMIUM names another one`);
    }
    const own = new Page();
    own.browser = await chromium.launch({ executablePath: EXECUTABLE, args: OPTIONS });
    own.#url = url;
    own.#context = await own.browser.newContext({ viewport });
    // By itself a page waits for 30 seconds, which is short beside other suites.
    own.#context.setDefaultTimeout(300_000);
    own.page = await own.#newPage();
    if (held) await own.#hold(`${url}${held}`);
    await own.page.goto(`${url}${path}`);
    return own;
  }

  /** Opens a path of the gateway in another tab of the same browser. */
  async another(path) {
    const page = await this.#newPage();
    await page.goto(`${this.#url}${path}`);
    return page;
  }

  async #newPage() {
    const page = await this.#context.newPage();
    this.#watch(page);
    return page;
  }

  async #hold(address) {
    const released = new Promise((resolve) => (this.release = resolve));
    await this.page.route(address, (route) => released.then(() => route.continue()));
  }

  #watch(page) {
    const { host } = new URL(this.#url);
    const asked = (address) => {
      const { protocol, host: other } = new URL(address);
      const isInside = ["data:", "blob:", "about:"].includes(protocol);
      if (!isInside && other !== host) this.foreign.push(address);
    };
    page.on("request", (request) => asked(request.url()));
    page.on("websocket", (socket) => asked(socket.url()));
    page.on("pageerror", (fault) => this.faults.push(String(fault)));
    page.on("console", (message) => {
      if (message.type() === "error") this.faults.push(message.text());
    });
  }

  /** Keeps a picture in the scratch folder. */
  async picture(name) {
    const folder = join(world.scratch, "screenshots");
    mkdirSync(folder, { recursive: true });
    await this.page.screenshot({ path: join(folder, `${name}.png`) });
  }

  /** That nothing went wrong unseen. */
  assertClean() {
    assert.deepEqual(this.foreign, [], "addresses on other hosts");
    assert.deepEqual(this.faults, [], "faults");
  }

  close() {
    return this.browser.close();
  }
}

/** Waits until the locator's element shows the text. */
export async function waitForText(locator, text) {
  try {
    await locator.filter({ hasText: text }).waitFor();
  } catch (error) {
    throw new Error(`${error.message}\nIt shows: ${await locator.innerText()}`);
  }
}
