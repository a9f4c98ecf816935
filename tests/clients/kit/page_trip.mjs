// What people do in a page that runs operations, the same in GraphiQL and in the explorer.

import assert from "node:assert/strict";

import { idempotencyKey, newProduct, receive } from "./shop.mjs";
import { world } from "./world.mjs";

/**
 * Checks a query, a mutation with a token, a refusal without one, and a subscription. The last argument has the ways
 * of the page: `write(text)` an operation, which begins with its kind and name, `token(text)`, `run()`, `stop()`, and
 * `shows(text)`, which waits for it in the response.
 */
export async function pageTrip(checks, own, name, { write, token, run, stop, shows }) {
  const sku = await newProduct(name);
  await checks.check("a query is written, run and answered", async () => {
    await write(`query Look { product(sku: "${sku}") { sku title } }`);
    await run();
    await shows(`"sku": "${sku}"`);
    await own.picture(`${name}-query`);
  });
  const openCart = () =>
    `mutation Open { openCart(input: {policy: RESERVE, currency: "EUR", idempotencyKey: "${idempotencyKey()}"}) { ... on Cart { state } } }`;
  await checks.check("what needs a token is refused without one", async () => {
    await write("query Mine { myOrders(first: 1) { edges { node { id } } } }");
    await token("");
    await run();
    await shows("UNAUTHENTICATED");
  });
  await checks.check("a mutation with a token is run and answered", async () => {
    await write(openCart());
    await token(world.tokens.shopper);
    await run();
    await shows('"state": "ACTIVE"');
    await own.picture(`${name}-mutation`);
  });
  await checks.check("a subscription shows what is there, and each change as it comes", async () => {
    await write(`subscription Watch { stockChanged(sku: "${sku}") { available } }`);
    await run();
    await shows('"available":');
    const after = await receive(sku, 3);
    await shows(`"available": ${after}`);
    await own.picture(`${name}-subscription`);
    await stop();
  });
  await checks.check("no other host was asked, and nothing went wrong in the page", async () => {
    assert.ok(own.page.url().startsWith(world.url));
    own.assertClean();
  });
}
