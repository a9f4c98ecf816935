// The explorer, the page that every binary has, in a browser that reaches no other host.

import { Page } from "../kit/browser.mjs";
import { pageTrip } from "../kit/page_trip.mjs";

export const title = "The explorer in Chromium";
export const packages = ["playwright-core"];

export async function run(checks) {
  const own = await Page.open("/");
  const { page } = own;
  const editor = page.locator("#query-editor textarea");
  await editor.waitFor();
  await pageTrip(checks, own, "explorer", "ALB-00010", {
    write: (text) => editor.fill(text),
    async token(text) {
      await page.click("#tab-token");
      await page.fill("#token-field", text);
    },
    run: () => page.click("#run"),
    stop: () => page.click("#run"),
    shows: (text) => page.locator("#response").filter({ hasText: text }).waitFor(),
  });
  await own.close();
}
