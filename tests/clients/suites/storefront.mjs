// The example storefront, as the demo serves it, on a desktop and on a phone.

import assert from "node:assert/strict";

import { CannotRun } from "../kit/checks.mjs";
import { Page } from "../kit/browser.mjs";
import { PHONE, fitsItsWidth } from "../kit/phone.mjs";
import { ADDRESS, newProduct, receive, reprice } from "../kit/shop.mjs";
import { field, world } from "../kit/world.mjs";

export const title = "The example storefront in Chromium";
export const packages = ["playwright-core"];

const DESKTOP = { width: 1280, height: 900 };
const CARDS = ".cards .card";

export async function run(checks) {
  const { status } = await fetch(`${world.url}/shop`);
  if (status === 404) throw new CannotRun("the binary was built without the storefront; see examples/storefront");
  await checks.check("its files are typed and kept to this host, and addresses within it show the page", served);
  for (const [name, viewport] of [["desktop", DESKTOP], ["phone", PHONE]]) {
    const isPhone = viewport === PHONE;
    const visit = (text, path, steps) =>
      checks.check(`${name}: ${text}`, async () => {
        const own = await Page.open(path, { viewport });
        try {
          const picture = (what) => own.picture(`storefront-${name}-${what}`);
          await steps(own.page, picture, isPhone, (path) => own.another(path));
          own.assertClean();
        } finally {
          await own.close();
        }
      });
    await visit("a first page asks docgate twice at most", "/shop", firstPage);
    await visit("facets narrow a list, and a list is sorted and continued", "/shop/c/music", browse);
    await visit("the way back to a list shows it as it was left", "/shop", back);
    await visit("the works of a person are listed, and narrow a category in any order", "/shop/sku/ALB-00001", works);
    await visit("search suggests while somebody types, and is used by keys", "/shop", search);
    await visit("a product shows its live stock and its comments", "/shop/sku/ALB-00001", product);
    await visit("a variant is chosen with its price, stock and picture", "/shop", variants);
    await visit("the text of a picture that can't be shown stands in its place", "/shop", failedPicture);
    await visit("an address that nothing can have shows that nothing is there", "/shop/product/No%20Slug", nothing);
    await visit("a page that couldn't be loaded is there after another try", "/shop/c/music", retried);
    await visit("a cart isn't called empty while it loads, or when it can't be loaded", "/shop/sku/ALB-00007", loading);
    await visit("a checkout under way that can't be looked at is there after another try", "/shop/sku/ALB-00007", ordering);
    await visit("a cart that is gone says so, and the next product begins another one", "/shop/sku/ALB-00007", gone);
    await visit("another tab follows the cart and its checkout", "/shop/sku/ALB-00002", tabs);
    await visit("a new price shows at the checkout, and is accepted there", "/shop", newPrice);
    await visit("keys find the focus where it was, or at the heading", "/shop/sku/ALB-00002", focus);
    await visit("the checkout keeps the address over a way to the cart and a reload", "/shop/sku/ALB-00008", keptAddress);
    await visit("a guest buys with a voucher, and sees the order by its number", "/shop/sku/ALB-00002", buy);
    await visit("an order whose answer was lost is found by the next try", "/shop/sku/ALB-00002", unanswered);
    await visit("an order that no voucher pays for is refused in the words of the shop", "/shop/sku/ALB-00006", unpaid);
    await visit("pages of the site and a blog are shown, also by an address that they had", "/shop/site/en/shipping", site);
  }
}

async function served() {
  const page = await fetch(`${world.url}/shop/c/music`);
  assert.equal(page.status, 200);
  assert.match(page.headers.get("content-type"), /^text\/html/);
  assert.match(page.headers.get("content-security-policy"), /^default-src 'self'; frame-ancestors 'none'/);
  const [script] = /\/shop\/[\w-]+\.js/.exec(await page.text());
  const { headers } = await fetch(`${world.url}${script}`);
  assert.match(headers.get("content-type"), /^text\/javascript/);
  for (const path of ["/shop/index.html", "/shop/other.js", "/shop/..%2fexplorer.js"]) {
    assert.equal((await fetch(`${world.url}${path}`)).status, 404, path);
  }
}

async function firstPage(page, picture, isPhone) {
  await page.locator(CARDS).first().waitFor();
  await page.locator(".menu a").first().waitFor();
  const asked = [];
  page.on("request", (request) => request.url().endsWith("/graphql") && asked.push(request.postData()));
  await page.reload();
  await page.locator(CARDS).nth(5).waitFor();
  await page.locator(".menu a").first().waitFor();
  assert.ok(asked.length <= 2, `${asked.length} requests`);
  await loaded(page.locator(`${CARDS} img`).first());
  if (isPhone) await fitsItsWidth(page, [".brand", ".search input", ".cart-link", ".menu a"]);
  await picture("first");
}

async function browse(page, picture, isPhone) {
  await page.locator(".count").waitFor();
  const all = number(await page.locator(".count").textContent());
  assert.ok(all > 20, `${all} products`);
  if (isPhone) await page.locator(".narrow summary").click();
  await picture("facets");
  const prices = page.locator(".facet", { hasText: "Price" }).locator("a");
  // The range with most products, so that there is something to sort.
  const counts = (await prices.locator("small").allTextContents()).map(number);
  const count = Math.max(...counts);
  assert.ok(count > 1, `the prices have ${counts} products`);
  const price = prices.nth(counts.indexOf(count));
  await price.click();
  await page.locator(".facet a[aria-current]").waitFor();
  await eventuallyCounts(page, Math.min(count, 24));
  if (isPhone) {
    await page.locator(".narrow summary").click();
    await fitsItsWidth(page, [".narrow summary", ".sort select"]);
  }
  await page.locator(".sort select").selectOption("PRICE_DOWN");
  await page.waitForURL(/sort=PRICE_DOWN/);
  await eventually(page, isFalling);
  await picture("narrowed");
  await page.goto(`${world.url}/shop`);
  await page.getByRole("button", { name: "Show more" }).click();
  await eventuallyCounts(page, 48);
  await page.goBack();
  await page.locator(".facet a[aria-current]").first().waitFor({ state: "attached" });
}

async function back(page, picture) {
  await page.locator(".sort select").selectOption("TITLE");
  await page.waitForURL(/sort=TITLE/);
  await page.getByRole("button", { name: "Show more" }).click();
  await eventuallyCounts(page, 48);
  const card = page.locator(CARDS).nth(40);
  await card.scrollIntoViewIfNeeded();
  const before = await page.evaluate(() => window.scrollY);
  assert.ok(before > 500, `the list is at ${before}`);
  const href = await card.getAttribute("href");
  await card.click();
  await page.locator(".product h1").waitFor();
  await eventually(page, () => window.scrollY === 0 && document.activeElement.tagName === "H1");
  await page.goBack();
  await eventuallyCounts(page, 48);
  await eventually(page, (before) => Math.abs(window.scrollY - before) < 2, before);
  await eventually(page, (href) => document.activeElement.getAttribute("href") === href, href);
  assert.equal(await page.locator(".sort select").inputValue(), "TITLE");
  await picture("back");
  await page.goBack();
  await page.waitForURL(/shop$/);
  assert.equal(await page.locator(".sort select").inputValue(), "NEWEST");
}

async function works(page, picture, isPhone) {
  const { contributors } = await field('{ product(by: {sku: "ALB-00001"}) { contributors { name } } }');
  const [{ name }] = contributors;
  await page.locator(".product .by a", { hasText: name }).first().click();
  await page.locator("h1", { hasText: `Works of ${name}` }).waitFor();
  await page.locator(CARDS).first().waitFor();
  if (isPhone) await fitsItsWidth(page, ["h1"]);
  await picture("works");
  await page.goto(`${world.url}/shop/c/music`);
  await page.locator(".narrow").waitFor();
  if (isPhone) await page.locator(".narrow summary").click();
  const people = page.locator(".facet", { has: page.getByRole("heading", { name: "By", exact: true }) }).locator("a");
  // The one with most products comes first.
  const count = number(await people.first().locator("small").textContent());
  assert.ok(count > 1, `${count} products`);
  await people.first().click();
  await page.locator(".facet a[aria-current]").first().waitFor();
  await eventuallyCounts(page, Math.min(count, 24));
  await page.locator(".sort select").selectOption("PRICE_DOWN");
  await page.waitForURL(/sort=PRICE_DOWN/);
  await eventually(page, isFalling);
  await eventuallyCounts(page, Math.min(count, 24));
  await page.locator(".sort select").selectOption("RATING");
  await page.waitForURL(/sort=RATING/);
}

async function search(page, picture) {
  const { title, tracks } = await field('{ product(by: {sku: "ALB-00003"}) { title ... on Album { tracks { title } } } }');
  const words = page.getByRole("combobox", { name: "Search the shop" });
  // The answer for a part of the title may have it too, and the last one, which comes later, resets what is chosen.
  const isLast = (answer) => answer.request().postData()?.includes(JSON.stringify(title.trim()));
  const last = page.waitForResponse(isLast);
  await words.pressSequentially(title);
  await last;
  await page.getByRole("option", { name: title }).first().waitFor();
  await picture("suggestions");
  await words.press("ArrowDown");
  const chosen = await page.locator("[role=option][aria-selected=true] span").textContent();
  await words.press("Enter");
  await page.locator("h1", { hasText: chosen }).waitFor();
  await words.fill(title);
  await words.press("Enter");
  await page.getByRole("heading", { name: "Results for" }).waitFor();
  await page.locator(CARDS, { hasText: title }).first().waitFor();
  await picture("results");
  // What is found by a track says so, because its own title doesn't have the words.
  await words.fill(tracks[0].title);
  await page.getByRole("option").filter({ hasText: "by a track" }).first().waitFor();
  await misspelt(page, words, picture);
}

/** Results for words with a typing error: there are none, and the words that were meant are one click away. */
async function misspelt(page, words, picture) {
  const { nodes } = await field('{ products(by: {where: {}}, first: 50) { nodes { title } } }');
  const all = nodes.flatMap(({ title }) => title.match(/\b[A-Za-z]{6,}\b/g) ?? []);
  const word = all[0].toLowerCase();
  await words.fill(word.slice(0, 2) + word.slice(3));
  await words.press("Enter");
  await page.getByText("Did you mean").waitFor();
  await picture("misspelt");
  await page.getByRole("status").getByRole("link", { name: word }).click();
  await page.getByRole("heading", { name: `Results for “${word}”` }).waitFor();
  await page.locator(CARDS).first().waitFor();
}

async function product(page, picture, isPhone) {
  await receive("ALB-00001");
  const before = await stockShown(page, "ALB-00001");
  await receive("ALB-00001", 3);
  await stockShown(page, "ALB-00001", before);
  await loaded(page.locator(".gallery img").first());
  if (isPhone) await fitsItsWidth(page, [".product h1"]);
  await picture("product");
  // The product with the most comments.
  await page.goto(`${world.url}/shop/sku/ALB-00004`);
  await page.locator(".comments li").first().waitFor();
  await page.locator("#comments").scrollIntoViewIfNeeded();
  await picture("comments");
}

async function variants(page, picture, isPhone) {
  const sku = "AUD-00003";
  const query = `query($sku: ID!) { product(by: {sku: $sku}, locale: "en") {
    title images { url } variants { sku title pricing { retail { formatted(locale: "en") } } image { url } } } }`;
  const { title, images, variants: all } = await field(query, { sku });
  assert.ok(all.length > 1);
  assert.equal(images.length, all.length + 1, "a picture of each variant, and one of the product");
  for (const one of all) assert.ok(images.some(({ url }) => url === one.image.url), one.sku);
  const last = all.at(-1);
  await receive(last.sku);
  await page.goto(`${world.url}/shop/sku/${sku}`);
  await page.locator("h1", { hasText: title }).waitFor();
  const shown = page.locator(".gallery .picture");
  await loaded(shown);
  const before = await shown.getAttribute("src");
  await page.getByRole("radio", { name: new RegExp(`^${last.title}$`, "i") }).check();
  await page.locator(".offer strong", { hasText: last.pricing.retail.formatted }).waitFor();
  await eventually(page, (former) => document.querySelector(".gallery .picture").getAttribute("src") !== former, before);
  await loaded(shown);
  assert.match(await shown.getAttribute("alt"), new RegExp(`${last.title}$`));
  await stockShown(page, last.sku);
  await page.locator(".choices").evaluate((choices) => choices.scrollIntoView({ block: "center" }));
  if (isPhone) await fitsItsWidth(page, [".choices", ".choices label"]);
  await picture("variant");
  await page.getByRole("button", { name: "Add to cart" }).click();
  await page.getByText("In your cart.").waitFor();
  await page.getByRole("link", { name: "Go to the cart" }).click();
  await page.locator(".lines li", { hasText: `${title}, ${last.title}` }).waitFor();
  // Its address leads to it.
  await page.goto(`${world.url}/shop/sku/${last.sku}`);
  await page.getByRole("radio", { checked: true, name: new RegExp(`^${last.title}$`, "i") }).waitFor();
}

async function failedPicture(page, picture) {
  const { images } = await field('{ product(by: {sku: "ALB-00005"}) { images { alternativeText } } }');
  await page.route("**/assets/**", (route) => route.fulfill({ contentType: "image/png", body: "no picture" }));
  await page.goto(`${world.url}/shop/sku/ALB-00005`);
  await page.locator(".gallery .picture.failed", { hasText: images[0].alternativeText }).waitFor();
  await picture("failed-picture");
}

/** Waits until the page shows the stock as it is, and not `former`. Other suites change it meanwhile. */
async function stockShown(page, sku, former) {
  const until = Date.now() + 300_000;
  for (;;) {
    const shown = number(await page.getByTestId("stock").textContent());
    const { available } = await field(`{ stock(sku: "${sku}") { available } }`);
    if (shown === available && shown !== former) return shown;
    assert.ok(Date.now() < until, `the page shows ${shown}, and there are ${available}`);
    await page.waitForTimeout(100);
  }
}

/** Puts the product into the cart, and goes there. */
async function fill(page, sku) {
  await receive(sku);
  await page.reload();
  await page.getByRole("button", { name: "Add to cart" }).click();
  await page.getByText("In your cart.").waitFor();
  await page.getByRole("link", { name: "Go to the cart" }).click();
}

async function nothing(page) {
  for (const path of ["c/100%", "site/en/No Page", "search?by=nobody", "no/page"]) {
    await page.getByRole("heading", { name: "Not found" }).waitFor();
    await page.goto(`${world.url}/shop/${path}`);
  }
  await page.getByRole("heading", { name: "Not found" }).waitFor();
}

/** An answer that isn't worth another try without the shopper. */
const OUT_OF_ORDER = {
  contentType: "application/json",
  body: JSON.stringify({ errors: [{ message: "out of order" }] }),
};

async function retried(page) {
  await page.locator(CARDS).first().waitFor();
  for (const [path, shown] of [["c/music", CARDS], ["sku/ALB-00001", ".product h1"], ["site/en/delivery", ".prose"]]) {
    await page.route("**/graphql", (route) => route.fulfill(OUT_OF_ORDER));
    await page.goto(`${world.url}/shop/${path}`);
    await page.getByRole("alert").getByText("out of order").waitFor();
    await page.unroute("**/graphql");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator(shown).first().waitFor();
  }
}

async function loading(page, picture) {
  await fill(page, "ALB-00007");
  await page.locator(".lines li").waitFor();
  let release;
  const released = new Promise((resolve) => (release = resolve));
  const isFrame = (route) => route.request().postData()?.includes("query Frame");
  await page.route("**/graphql", async (route) => {
    if (isFrame(route)) await released;
    await route.fallback();
  });
  await page.reload();
  await page.getByText("Loading your cart").waitFor();
  assert.equal(await page.getByText("It is empty").count(), 0);
  assert.equal(await page.getByTestId("cart-count").textContent(), "…");
  await picture("loading");
  release();
  await page.locator(".lines li").waitFor();
  await page.getByTestId("cart-count").getByText("1", { exact: true }).waitFor();
  await page.unroute("**/graphql");
  await page.route("**/graphql", (route) => (isFrame(route) ? route.fulfill(OUT_OF_ORDER) : route.fallback()));
  await page.reload();
  await page.getByRole("alert").getByText("Your cart can't be loaded now").waitFor();
  await page.unroute("**/graphql");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.locator(".lines li").waitFor();
}

async function ordering(page) {
  await fill(page, "ALB-00007");
  await page.locator(".lines li").waitFor();
  let isLost = false;
  await page.route("**/graphql", async (route) => {
    if (!route.request().postData()?.includes("query Frame")) return route.fallback();
    if (isLost) return route.fulfill(OUT_OF_ORDER);
    const response = await route.fetch();
    const json = await response.json();
    json.data.cart.state = "PENDING";
    await route.fulfill({ response, json });
  });
  await page.reload();
  await page.getByText("Your order is being placed").waitFor();
  isLost = true;
  await page.getByRole("alert").getByText("Your cart can't be loaded now").waitFor();
  await page.unroute("**/graphql");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.locator(".lines li").waitFor();
}

/** Ends the cart of the page without it. */
async function endCart(page) {
  const cartId = await page.evaluate(() => localStorage.getItem("shop-cart"));
  const mutation = `mutation($cartId: ID!) {
    cancelCart(input: {cartId: $cartId}) { ... on Cart { state } ... on UserError { code message } }
  }`;
  await field(mutation, { cartId });
}

async function gone(page, picture) {
  await fill(page, "ALB-00007");
  const quantity = page.getByRole("combobox", { name: /^Quantity of/ });
  await quantity.waitFor();
  await endCart(page);
  await quantity.selectOption("2");
  await page.getByText("Your cart has expired").waitFor();
  await picture("gone");
  await page.goto(`${world.url}/shop/sku/ALB-00007`);
  const add = page.getByRole("button", { name: "Add to cart" });
  await add.click();
  await page.getByText("In your cart.").waitFor();
  await endCart(page);
  await add.click();
  await page.getByText("In your cart.").waitFor();
  await page.getByRole("link", { name: "Go to the cart" }).click();
  await page.locator(".lines li").waitFor();
}

async function tabs(page, picture, isPhone, another) {
  const other = await another("/shop/cart");
  await other.getByText("It is empty.").waitFor();
  await fill(page, "ALB-00002");
  await other.locator(".lines li").waitFor();
  await page.getByRole("combobox", { name: /^Quantity of/ }).selectOption("2");
  await other.getByTestId("cart-count").getByText("2", { exact: true }).waitFor();
  await other.getByLabel("Voucher").fill("gift");
  await other.getByRole("button", { name: "Apply" }).click();
  await page.getByTestId("total").getByText("€0.00").waitFor();
  await address(page);
  await page.getByRole("radio", { name: /^Standard delivery/, checked: true }).waitFor();
  await page.getByRole("button", { name: "Place the order" }).click();
  await page.getByText("Thank you.").waitFor();
  await other.getByText("Your order was placed.").waitFor();
  await other.getByTestId("cart-count").getByText("0", { exact: true }).waitFor();
  await other.getByRole("link", { name: "See it" }).click();
  await other.getByText("Thank you.").waitFor();
}

async function newPrice(page, picture) {
  const sku = await newProduct(`New-price-${await page.evaluate(() => window.innerWidth)}`);
  await page.goto(`${world.url}/shop/sku/${sku}`);
  await fill(page, sku);
  await page.getByTestId("total").getByText("€12.00").waitFor();
  await reprice(sku, 1100);
  await page.reload();
  await page.getByText("€12.00 (now €11.00)").waitFor();
  await page.getByRole("link", { name: "Check out" }).click();
  await page.getByText("A price has changed").waitFor();
  await picture("new-price");
  await page.getByRole("button", { name: "Accept the new prices" }).click();
  await page.locator(".sums").getByText("€11.00").first().waitFor();
  await page.getByText("A price has changed").waitFor({ state: "detached" });
}

async function focus(page) {
  const isAt = (locator) => eventually(page, (element) => document.activeElement === element, locator);
  const isAtHeading = () => eventually(page, () => document.activeElement.tagName === "H1");
  const press = async (locator, key = "Enter") => {
    const element = await locator.elementHandle();
    await element.press(key);
    return element;
  };
  await receive("ALB-00002");
  await page.reload();
  const add = await press(page.getByRole("button", { name: "Add to cart" }));
  await page.getByText("In your cart.").waitFor();
  await isAt(add);
  await page.goto(`${world.url}/shop/cart`);
  const quantity = await press(page.getByRole("combobox", { name: /^Quantity of/ }), "ArrowDown");
  await quantity.press("ArrowDown");
  await page.getByTestId("cart-count").getByText("3", { exact: true }).waitFor();
  await isAt(quantity);
  await page.getByLabel("Voucher").fill("gift");
  await press(page.getByLabel("Voucher"));
  await page.getByTestId("total").getByText("€0.00").waitFor();
  await isAtHeading();
  await page.goto(`${world.url}/shop/checkout`);
  await press(page.getByRole("radio", { name: /^Standard delivery/, checked: true }), "ArrowDown");
  await isAt(await page.getByRole("radio", { name: /^Express delivery/, checked: true }).elementHandle());
  await page.goto(`${world.url}/shop/cart`);
  await press(page.getByRole("button", { name: /^Remove / }).first());
  await page.getByText("It is empty.").waitFor();
  await isAtHeading();
  await page.goto(`${world.url}/shop`);
  await press(page.getByRole("button", { name: "Show more" }));
  await isAt(await page.locator(CARDS).nth(24).elementHandle());
}

async function keptAddress(page) {
  await fill(page, "ALB-00008");
  await address(page);
  await page.getByLabel("Country").selectOption("FR");
  await page.getByRole("link", { name: "Change the cart" }).click();
  await page.getByRole("link", { name: "Check out" }).click();
  for (const again of [() => page.reload(), () => undefined]) {
    assert.equal(await page.getByLabel("Street and number").inputValue(), ADDRESS.street);
    assert.equal(await page.getByLabel("Country").inputValue(), "FR");
    await again();
    await page.getByLabel("Street and number").waitFor();
  }
}

/** Enters the address at the checkout. */
async function address(page) {
  await page.getByRole("link", { name: "Check out" }).click();
  await page.getByLabel("Name").fill(ADDRESS.name);
  await page.getByLabel("Street and number").fill(ADDRESS.street);
  await page.getByLabel("Postcode and city").fill(ADDRESS.city);
  await page.getByLabel("Email").fill("guest@home.example");
}

async function unpaid(page) {
  await fill(page, "ALB-00006");
  await address(page);
  await page.getByRole("radio", { name: /^Standard delivery/, checked: true }).waitFor();
  await page.getByRole("button", { name: "Place the order" }).click();
  await page.getByRole("alert").getByText("This demo takes no cards").waitFor();
}

async function unanswered(page) {
  await fill(page, "ALB-00002");
  await page.getByLabel("Voucher").fill("gift");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByTestId("total").getByText("€0.00").waitFor();
  await address(page);
  await page.getByRole("radio", { name: /^Standard delivery/, checked: true }).waitFor();
  await page.route("**/graphql", async (route) => {
    if (!route.request().postData()?.includes("checkoutCart")) return route.fallback();
    await route.fetch();
    await route.fulfill({ contentType: "application/json", body: "lost" });
  });
  const order = page.getByRole("button", { name: "Place the order" });
  await order.click();
  await page.getByRole("alert").getByText("The shop can't be reached").waitFor();
  await page.unroute("**/graphql");
  await order.click();
  await page.getByText("Thank you.").waitFor();
}

async function buy(page, picture, isPhone) {
  await fill(page, "ALB-00002");
  await page.getByRole("combobox", { name: /^Quantity of/ }).selectOption("2");
  await page.getByTestId("cart-count").getByText("2", { exact: true }).waitFor();
  await page.reload();
  await page.locator(".lines li").waitFor();
  await page.getByLabel("Voucher").fill("NOSUCH");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.locator(".voucher .bad").waitFor();
  await page.getByLabel("Voucher").fill("gift");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByTestId("total").getByText("€0.00").waitFor();
  if (isPhone) await fitsItsWidth(page, ["h1", ".lines li"]);
  await picture("cart");
  await address(page);
  const standard = page.getByRole("radio", { name: /^Standard delivery/, checked: true });
  await standard.waitFor();
  const [button, label] = [await standard.boundingBox(), await page.locator(".delivery label").first().boundingBox()];
  const apart = Math.abs(button.y + button.height / 2 - (label.y + label.height / 2));
  assert.ok(apart < 3, `the radio button is ${apart} pixels above or below the middle of its label`);
  await picture("checkout");
  await page.getByRole("button", { name: "Place the order" }).click();
  await page.getByText("Thank you.").waitFor();
  const shown = await page.getByTestId("order-number").textContent();
  assert.match(shown, /^\w{4}-\w{4}-\w$/, "a number that people can read out");
  await page.getByText(ADDRESS.street).waitFor();
  await page.getByText("guest@home.example").waitFor();
  await page.getByText("Standard delivery").waitFor();
  await page.getByTestId("cart-count").getByText("0", { exact: true }).waitFor();
  await picture("order");
  await page.getByRole("link", { name: "All your orders" }).click();
  await page.locator(".orders li", { hasText: shown }).waitFor();
  await picture("orders");
}

async function site(page, picture, isPhone) {
  await page.waitForURL(/\/shop\/site\/en\/delivery$/);
  await page.getByRole("heading", { name: "Delivery" }).waitFor();
  if (isPhone) await fitsItsWidth(page, ["h1"]);
  await page.getByRole("link", { name: "From the workshop" }).click();
  await page.locator(".entries li").first().waitFor();
  await picture("feed");
  await page.locator(".entries a").first().click();
  await page.locator(".prose blockquote").waitFor();
  await picture("entry");
}

const number = (text) => Number(text.replace(/\D/g, ""));

/** Waits until a picture is there. */
const loaded = (image) =>
  image.evaluate((shown) => shown.decode().then(() => shown.naturalWidth > 1 || Promise.reject(new Error("empty"))));

const eventually = (page, condition, argument) => page.waitForFunction(condition, argument);

const eventuallyCounts = (page, count) =>
  eventually(page, ([cards, count]) => document.querySelectorAll(cards).length === count, [CARDS, count]);

/** Whether the prices of the list go down. It runs in the page. */
function isFalling() {
  const prices = [...document.querySelectorAll(".card .price strong")].map((one) => Number(one.textContent.replace(/[^\d.]/g, "")));
  return prices.length > 1 && prices.every((price, at) => at === 0 || price <= prices[at - 1]);
}
