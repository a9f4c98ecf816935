// A page in a window as wide as a phone.

import assert from "node:assert/strict";

export const PHONE = { width: 390, height: 844 };

/** Chooses one of the parts of which a narrow page shows one at a time. */
export const showPart = (page, name) =>
  page.locator(".views button").getByText(name, { exact: true }).click();

/** Checks that nothing is wider than the window, and that each of these is in it and big enough to be touched. */
export async function fitsItsWidth(page, selectors) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= PHONE.width, `the page is ${wide} wide`);
  for (const selector of selectors) {
    const box = await page.locator(selector).first().boundingBox();
    assert.ok(box, `${selector} isn't shown`);
    const isInside = box.x >= 0 && box.x + box.width <= PHONE.width && box.y + box.height <= PHONE.height;
    assert.ok(isInside && box.width > 30 && box.height > 10, `${selector}: ${JSON.stringify(box)}`);
  }
}
