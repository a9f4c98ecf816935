// GraphiQL, as the binary serves it, in a browser that reaches no other host.

import { CannotRun } from "../kit/checks.mjs";
import { Page } from "../kit/browser.mjs";
import { pageTrip } from "../kit/page_trip.mjs";
import { world } from "../kit/world.mjs";

export const title = "GraphiQL in Chromium";
export const packages = ["playwright-core"];

export async function run(checks) {
  const { status } = await fetch(`${world.url}/graphiql`);
  if (status === 404) throw new CannotRun("the binary was built without GraphiQL; see web/graphiql");
  const own = await Page.open("/graphiql");
  const { page } = own;
  const editor = page.locator(".graphiql-query-editor .monaco-editor").first();
  await editor.waitFor();
  const response = page.locator(".result-window");
  const execute = page.locator(".graphiql-execute-button");
  await pageTrip(checks, own, "graphiql", "ALB-00009", {
    async write(text) {
      await editor.click();
      await page.keyboard.press("ControlOrMeta+A");
      await page.keyboard.press("Delete");
      await page.keyboard.insertText(text);
      // GraphiQL reads what is written a moment later, and then names the tab after it.
      const [, name] = text.split(" ");
      await page.locator(".graphiql-tab-active").getByText(name, { exact: true }).waitFor();
    },
    async token(text) {
      await page.fill("#token-field", text);
      await page.locator("#token-field").blur();
    },
    run: () => execute.click(),
    stop: () => execute.click(),
    // Monaco writes spaces as no-break spaces.
    shows: (text) =>
      response.filter({ hasText: new RegExp(escaped(text).replaceAll(" ", "\\s*")) }).waitFor(),
  });
  await own.close();
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
