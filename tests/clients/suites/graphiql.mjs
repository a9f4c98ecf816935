// GraphiQL, as the binary serves it, in a browser that reaches no other host.

import assert from "node:assert/strict";

import { CannotRun } from "../kit/checks.mjs";
import { Page, waitForText } from "../kit/browser.mjs";
import { pageTrip } from "../kit/page_trip.mjs";
import { PHONE, fitsItsWidth, showPart } from "../kit/phone.mjs";
import { OwnGateway, world } from "../kit/world.mjs";

export const title = "GraphiQL in Chromium";
export const packages = ["playwright-core"];

const EDITOR = ".graphiql-query-editor .monaco-editor";
const EXECUTE = ".graphiql-execute-button";
const RESPONSE = ".result-window";

export async function run(checks) {
  const { status } = await fetch(`${world.url}/graphiql`);
  if (status === 404) throw new CannotRun("the binary was built without GraphiQL; see web/graphiql");
  const own = await Page.open("/graphiql");
  const { page } = own;
  const editor = page.locator(EDITOR).first();
  await editor.waitFor();
  await pageTrip(checks, own, "graphiql", {
    async write(text) {
      await editor.click();
      await page.keyboard.press("ControlOrMeta+A");
      await page.keyboard.press("Delete");
      await page.keyboard.insertText(text);
      // GraphiQL reads what is written a moment later, and then names the tab after it.
      const [, name] = text.split(" ");
      await isOpen(page, name);
    },
    async token(text) {
      await page.fill("#token-field", text);
      await page.locator("#token-field").blur();
    },
    run: () => page.click(EXECUTE),
    stop: () => page.click(EXECUTE),
    shows: (text) => shows(page, text),
  });
  await own.close();
  await checks.check("a reload shows the tab that was open, with its variables", afterReload);
  await checks.check("an example takes an id from the answer to another one", fromAnAnswer);
  await checks.check("an example runs first what it needs, and tells so", runFirst);
  await checks.check("where introspection is off, the page names its setting", introspectionOff);
  await checks.check("on a phone one part at a time is shown, each by its button", onAPhone);
}

const isOpen = (page, name) =>
  page.locator(".graphiql-tab-active").getByText(name, { exact: true }).waitFor();

/** Monaco writes spaces as no-break spaces. */
const shows = (page, text) =>
  waitForText(page.locator(RESPONSE), new RegExp(escaped(text).replaceAll(" ", "\\s*")));

/** Chooses an example, which opens in a tab of its own. */
async function choose(page, title, name) {
  await page.locator(".examples .title").getByText(title, { exact: true }).click();
  await isOpen(page, name);
}

const says = (page, text) => page.locator("#variables-origins").getByText(text).waitFor();

/** Waits until the shopper's token is the one that is sent. */
const hasShopper = (page) =>
  page.locator("#roles [data-role=shopper][aria-pressed=true]").waitFor();

async function opened(options) {
  const own = await Page.open("/graphiql", options);
  await own.page.locator(EDITOR).first().waitFor();
  return own;
}

async function fromAnAnswer() {
  const own = await opened();
  const { page } = own;
  await choose(page, "1. Open a cart", "OpenCart");
  await hasShopper(page);
  await page.click(EXECUTE);
  await shows(page, '"state": "ACTIVE"');
  await choose(page, "2. Put something into it", "AddLine");
  await says(page, "cart is from the answer to 1. Open a cart");
  await page.click(EXECUTE);
  await shows(page, '"quantity": 2');
  own.assertClean();
  await own.close();
}

async function afterReload() {
  const own = await opened();
  const { page } = own;
  assert.equal(await page.locator(".graphiql-tab").count(), 6);
  const hasVariable = (text) =>
    page.locator(".graphiql-editor-tool .monaco-editor").first().getByText(text).waitFor();
  await page.reload();
  await isOpen(page, "AProduct");
  await hasVariable("ALB-00001");
  await page.click(EXECUTE);
  await shows(page, '"sku": "ALB-00001"');
  await page.locator(".graphiql-tab-button").getByText("Discussed", { exact: true }).click();
  await isOpen(page, "Discussed");
  // GraphiQL stores its tabs a moment later.
  await page.waitForFunction(() => {
    const stored = JSON.parse(localStorage.getItem("graphiql:tabState") ?? "null");
    return stored?.tabs[stored.activeTabIndex]?.operationName === "Discussed";
  });
  await page.reload();
  await isOpen(page, "Discussed");
  await hasVariable("ALB-00004");
  await page.click(EXECUTE);
  await shows(page, '"commentCount":');
  own.assertClean();
  await own.close();
}

async function runFirst() {
  const own = await opened();
  const { page } = own;
  await choose(page, "4. Another quantity", "SetQuantity");
  await hasShopper(page);
  await says(page, "cart isn't known yet: Run first runs 2. Put something into it");
  await page.click(EXECUTE);
  await shows(page, '"quantity": 1');
  await says(page, "cart is from the answer to 2. Put something into it, which was run automatically");
  await own.picture("graphiql-obtained");
  own.assertClean();
  await own.close();
}

async function introspectionOff() {
  const gateway = new OwnGateway();
  await gateway.begin();
  try {
    const own = await opened({ url: gateway.url });
    await shows(own.page, "the setting `introspection` turns it on");
    await own.picture("graphiql-introspection-off");
    await own.close();
  } finally {
    await gateway.end();
  }
}

async function onAPhone() {
  const own = await opened({ viewport: PHONE });
  const { page } = own;
  await fitsItsWidth(page, [EDITOR, EXECUTE, ".graphiql-editor-tools", "#token-field"]);
  await own.picture("graphiql-phone-operation");
  await showPart(page, "Browse");
  await fitsItsWidth(page, [".graphiql-sidebar", ".examples"]);
  await own.picture("graphiql-phone-browse");
  await choose(page, "A product with everything", "AProduct");
  await page.click(EXECUTE);
  await shows(page, '"sku": "ALB-00001"');
  await fitsItsWidth(page, [RESPONSE]);
  await own.picture("graphiql-phone-response");
  await showPart(page, "Operation");
  await fitsItsWidth(page, [EXECUTE]);
  own.assertClean();
  await own.close();
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
