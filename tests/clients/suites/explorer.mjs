// The explorer, the page that every binary has, in a browser that reaches no other host.

import assert from "node:assert/strict";

import { Page, waitForText } from "../kit/browser.mjs";
import { Examples, examplesTrip } from "../kit/examples_trip.mjs";
import { pageTrip } from "../kit/page_trip.mjs";
import { PHONE, fitsItsWidth, showPart } from "../kit/phone.mjs";
import { OwnGateway } from "../kit/world.mjs";

export const title = "The explorer in Chromium";
export const packages = ["playwright-core"];

export async function run(checks) {
  const own = await Page.open("/");
  const { page } = own;
  const editor = page.locator("#query-editor textarea");
  await editor.waitFor();
  await pageTrip(checks, own, "explorer", {
    write: (text) => editor.fill(text),
    async token(text) {
      await page.click("#tab-token");
      await page.fill("#token-field", text);
    },
    run: () => page.click("#run"),
    stop: () => page.click("#run"),
    shows: (text) => waitForText(page.locator("#response"), text),
  });
  await checks.check("a syntax error is marked in the operation's text", () => syntaxErrors(own));
  await own.close();
  await examplesTrip(checks, () => Page.open("/"));
  await checks.check("an operation that is written for a field has values of its scalars", written);
  await checks.check("where introspection is off, the page names its setting", introspectionOff);
  await checks.check("on a phone one part at a time is shown, each by its button", onAPhone);
}

async function syntaxErrors(own) {
  const { page } = own;
  const excerpt = page.locator("#response pre.excerpt");
  const [mark, caret] = [excerpt.locator("mark"), excerpt.locator(".caret")];
  const refused = async (lines, { line, column, character }) => {
    await page.locator("#query-editor textarea").fill(lines.join("\n"));
    await page.click("#run");
    await page.locator("#response").getByText(`line ${line}, column ${column}`).waitFor();
    assert.ok((await excerpt.innerText()).includes(`${line} | ${lines[line - 1]}`));
    assert.equal(await mark.innerText(), character);
    const [above, below] = [await mark.boundingBox(), await caret.boundingBox()];
    assert.ok(Math.abs(above.x - below.x) < 1, "the caret stands below the character");
    assert.ok(below.y > above.y);
  };
  await refused(["query Broken {", "  product(sku: ]) { title }", "}"], {
    line: 2,
    column: 16,
    character: "]",
  });
  const message = page.locator("#response .message");
  assert.match(await message.innerText(), /^Syntax error: expected/);
  const font = await excerpt.evaluate((node) => getComputedStyle(node).fontFamily);
  assert.match(font, /monospace/);
  await own.picture("explorer-syntax-error");
  // A wide character and a tab before it, and a fault that isn't one of syntax.
  await refused(["{", '\tproduct(sku: "🎷") { titel }', "}"], {
    line: 2,
    column: 22,
    character: "t",
  });
  await refused(["{ product("], { line: 1, column: 11, character: " " });
}

async function written() {
  const own = await Page.open("/");
  const { page } = own;
  await page.click("#tab-documentation");
  await page.locator("#documentation input").fill("openAccount");
  await page.locator("#documentation button").getByText("openAccount", { exact: true }).first().click();
  await page.locator("#documentation button").getByText("Write this operation").click();
  const values = JSON.parse(await page.locator("#variables-editor textarea").inputValue());
  assert.equal(values.input.currency, "EUR");
  await own.close();
}

async function introspectionOff() {
  const gateway = new OwnGateway();
  await gateway.begin();
  try {
    const own = await Page.open("/", { url: gateway.url });
    await own.page.locator("#schema-state").getByText("introspection is off").waitFor();
    await own.page.click("#tab-documentation");
    const said = await own.page.locator("#documentation").innerText();
    assert.ok(said.includes("introspection = true"), said);
    assert.ok(said.includes("DOCGATE_INTROSPECTION=true"), said);
    await own.picture("explorer-introspection-off");
    await own.close();
  } finally {
    await gateway.end();
  }
}

async function onAPhone() {
  // The examples may come after the user has chosen a part, which stays then.
  const own = await Page.open("/", { viewport: PHONE, held: "/explorer/examples.json" });
  const { page } = own;
  const examples = new Examples(page);
  await showPart(page, "Browse");
  own.release();
  await page.locator("#examples .choices [aria-current]").waitFor();
  await own.picture("explorer-phone-browse");
  await fitsItsWidth(page, ["#examples"]);
  await examples.choose("2. Put something into it");
  await examples.hasRole("shopper");
  await own.picture("explorer-phone-operation");
  await fitsItsWidth(page, ["#run", "#query-editor", "#variables-editor"]);
  for (const selector of ["#roles button", "#share", "#run"]) {
    const { height } = await page.locator(selector).first().boundingBox();
    assert.ok(height >= 40, `${selector} is ${height} high`);
  }
  // Phones zoom in on a field with smaller text.
  const font = (node) => getComputedStyle(node).fontSize;
  assert.equal(await page.locator("#token-field").evaluate(font), "16px");
  const { addCartLine } = await examples.run();
  assert.equal(addCartLine.__typename, "Cart");
  await own.picture("explorer-phone-response");
  await fitsItsWidth(page, ["#response"]);
  await showPart(page, "Operation");
  await fitsItsWidth(page, ["#variables-origins"]);
  own.assertClean();
  await own.close();
}
