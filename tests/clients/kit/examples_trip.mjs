// What a visitor does with the examples of the explorer.

import assert from "node:assert/strict";

import { field, world } from "./world.mjs";

/** Stands in the variables for what no answer has told yet. */
const PLACEHOLDER = "(from the answer to";

/** The examples of an explorer that is open in a page. */
export class Examples {
  constructor(page) {
    this.page = page;
    this.buttons = page.locator("#examples .choices button");
    this.variables = page.locator("#variables-editor textarea");
    /** What is said of where variables come from. */
    this.origins = page.locator("#variables-origins");
    this.status = page.locator("#status");
  }

  /** All of them, as the gateway lists them. */
  async all() {
    await this.buttons.first().waitFor();
    return this.page.evaluate(async () => (await fetch("explorer/examples.json")).json());
  }

  choose(title) {
    const named = this.page.locator(".title").getByText(title, { exact: true });
    return this.buttons.filter({ has: named }).click();
  }

  /** Waits until a role's token is the one that is sent. */
  hasRole(role) {
    return this.page.locator(`#roles [data-role=${role}][aria-pressed=true]`).waitFor();
  }

  /** The variables in the editor. */
  async values() {
    const text = await this.variables.inputValue();
    return text ? JSON.parse(text) : {};
  }

  /** Runs what is in the editors, and gives the answer's data, which has to be there. */
  async run() {
    await this.page.click("#run");
    // On a phone it isn't shown beside the response.
    const label = this.page.locator("#run-label").getByText("Run", { exact: true });
    await label.waitFor({ state: "attached" });
    const status = await this.status.innerText();
    const text = await this.page.locator("#response pre.json").innerText();
    assert.match(status, /^200/, text);
    assert.doesNotMatch(status, /error/, text);
    return JSON.parse(text).data;
  }

  /** Begins a subscription, which must not be refused, and ends it. */
  async follow(awaitsEvent) {
    await this.page.click("#run");
    await this.status.getByText("Live").waitFor();
    if (awaitsEvent) await this.page.locator("#response .event pre.json").first().waitFor();
    assert.equal(await this.page.locator("#response .error-list").count(), 0);
    await this.page.click("#run");
    await this.status.getByText("Stopped").waitFor();
    if (awaitsEvent) return;
    const said = await this.page.locator("#response").innerText();
    // Customers of other suites place orders meanwhile.
    const isOrder = (await this.page.locator("#response .event").count()) > 0 && said.includes("orderPlaced");
    assert.ok(isOrder || said === "No event arrived.", said);
  }

  /** Chooses an example and runs it as it stands; nothing may be missing or refused. */
  async try({ title, query, from = {}, role }) {
    await this.choose(title);
    if (role) await this.hasRole(role);
    const values = await this.values();
    assert.ok(!JSON.stringify(values).includes(PLACEHOLDER), `missing: ${JSON.stringify(values)}`);
    const said = await this.origins.innerText();
    for (const name of Object.keys(from)) {
      assert.ok(values[name], name);
      assert.ok(said.includes(`${name} is from the answer to`), `${name}: ${said}`);
    }
    // Of a discussion, of messages and of orders nothing is told but what is new.
    if (query.startsWith("subscription")) {
      return this.follow(!/commentAdded|messageArrived|orderPlaced/.test(query));
    }
    for (const [field, value] of Object.entries(await this.run())) {
      assert.ok(value !== null && !value.code, `${field}: ${JSON.stringify(value)}`);
    }
    return undefined;
  }
}

/** Checks that a visitor who pastes nothing gets on, from top to bottom and anywhere. */
export async function examplesTrip(checks, open) {
  await checks.check("each example runs as it stands, from top to bottom", () => fromTopToBottom(open), 900);
  await checks.check("an example runs first what it needs, and tells so", () => anywhere(open));
  await checks.check("an answer without what an example needs is shown", () => inVain(open));
  await checks.check("what an example has closed is opened anew, and that is told", () => opensAnew(open));
  await checks.check("a discussion is followed while another tab says something", () => inAnotherTab(open));
  await checks.check("the filter finds examples by their fields", () => filtered(open));
}

async function fromTopToBottom(open) {
  const own = await open();
  const examples = new Examples(own.page);
  const all = await examples.all();
  assert.ok(all.length > 60);
  assert.equal(await examples.buttons.count(), all.length);
  for (const example of all) {
    await examples.try(example).catch((fault) => {
      throw new Error(`${example.title}: ${fault.message}`, { cause: fault });
    });
  }
  await own.picture("explorer-examples");
  own.assertClean();
  await own.close();
}

async function anywhere(open) {
  const own = await open();
  // The demo's tokens may come after a first example was chosen.
  await own.page.route("**/tokens.json", async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await route.continue();
  });
  await own.page.reload();
  const examples = new Examples(own.page);
  const all = await examples.all();
  const checkout = all.find(({ query }) => query.startsWith("mutation Checkout"));
  await examples.choose(checkout.title);
  await examples.hasRole("shopper");
  assert.match(await examples.origins.innerText(), /cart isn't known yet: Run first runs 2\. Put/);
  await own.picture("explorer-before-obtaining");
  const { checkoutCart } = await examples.run();
  assert.equal(checkoutCart.__typename, "Order");
  const said = await examples.origins.innerText();
  assert.match(said, /cart is from the answer to 2\. Put .*, which was run automatically/);
  await own.picture("explorer-obtained");
  // By hand it is somebody's own value, of which nothing is said.
  const values = { ...(await examples.values()), cart: "mine" };
  await examples.variables.fill(JSON.stringify(values));
  assert.doesNotMatch(await examples.origins.innerText(), /cart is/);
  await own.page.click("#tab-history");
  const history = await own.page.locator("#history .title").allInnerTexts();
  assert.deepEqual(history, ["Checkout", "MyAccounts", "AddLine", "OpenCart"]);
  own.assertClean();
  await own.close();
}

async function inVain(open) {
  const own = await open();
  const { page } = own;
  const examples = new Examples(page);
  await examples.all();
  await examples.choose("What happened on an account");
  // A token of one's own isn't exchanged for the demo's; the admin has no account.
  await page.click("#tab-token");
  await page.fill("#token-field", world.tokens.admin);
  const { myAccounts } = await examples.run();
  assert.deepEqual(myAccounts.nodes, []);
  const said = await page.locator("#response .failure").innerText();
  assert.match(said, /“My accounts” was run first, for the variable account/);
  assert.match(JSON.stringify(await examples.values()), /from the answer to/);
  own.assertClean();
  await own.close();
}

async function opensAnew(open) {
  const own = await open();
  const examples = new Examples(own.page);
  await examples.all();
  const runs = async (title) => {
    await examples.choose(title);
    await examples.hasRole("shopper");
    const [answer] = Object.values(await examples.run());
    return answer;
  };
  const order = await runs("7. Check it out, paid from your account");
  assert.equal(order.__typename, "Order");
  // A cart that is checked out isn't used again, nor is an order that is cancelled.
  await examples.choose("2. Put something into it");
  const before = await examples.origins.innerText();
  assert.match(before, /cart has ended: Run first runs 1\. Open a cart/);
  assert.equal((await runs("5. Take something out again")).__typename, "Cart");
  assert.equal((await runs("Cancel an order: goods and money go back")).__typename, "Order");
  assert.equal((await runs("One more, or one less, of a line")).__typename, "Order");
  // A cart that ended elsewhere is told by a refusal.
  const { id } = await runs("2. Put something into it");
  const given = await examples.values();
  await field(
    "mutation Cancel($cart: ID!) { cancelCart(input: {cartId: $cart}) { __typename } }",
    { cart: id },
    world.tokens.shopper,
  );
  await examples.variables.fill(JSON.stringify({ ...given, idempotencyKey: `late-${Date.now()}` }));
  const { addCartLine: refused } = await examples.run();
  assert.equal(refused.code, "CART_NOT_ACTIVE");
  assert.match(await examples.origins.innerText(), /cart has ended: Run first runs/);
  const { addCartLine: added } = await examples.run();
  assert.equal(added.__typename, "Cart");
  assert.notEqual(added.id, id);
  own.assertClean();
  await own.close();
}

async function inAnotherTab(open) {
  const own = await open();
  const { page } = own;
  const examples = new Examples(page);
  await examples.all();
  await examples.choose("Follow a discussion (say something in another tab)");
  await page.click("#run");
  const opened = page.waitForEvent("popup");
  await page.locator("#response a").getByText("another tab").click();
  const tab = new Examples(await opened);
  await tab.all();
  await tab.choose("Say something");
  await tab.hasRole("shopper");
  assert.equal((await tab.run()).postComment.__typename, "Comment");
  await page.locator("#response .event").getByText("vinyl").waitFor();
  // What there isn't is told as that.
  await page.click("#run");
  await examples.variables.fill(JSON.stringify({ subjectId: "nothing" }));
  await page.click("#run");
  await page.locator("#response .error-list").getByText("NOT_FOUND").waitFor();
  own.assertClean();
  await own.close();
}

async function filtered(open) {
  const own = await open();
  const examples = new Examples(own.page);
  await examples.all();
  await own.page.locator("#examples input").fill("jobAvailable");
  const titles = await own.page.locator("#examples li:visible .title").allInnerTexts();
  assert.deepEqual(titles, ["Be told of jobs"]);
  await own.close();
}
