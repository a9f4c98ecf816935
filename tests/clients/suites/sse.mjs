// Operations over server-sent events, in distinct connections and over a single one:
// https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md

import assert from "node:assert/strict";

import { createClient } from "graphql-sse";

import { BALANCE, STOCK, comes, followTheShop } from "../kit/following.mjs";
import { account, newProduct, receive } from "../kit/shop.mjs";
import { OwnGateway, bearer, graphqlUrl, world } from "../kit/world.mjs";

export const title = "Server-sent events: distinct connections, and a single one";
export const packages = ["graphql-sse"];

const SKU = await newProduct("sse");

export async function run(checks) {
  const named = (name) => ({
    check: (what, run) => checks.check(`${name}: ${what}`, run),
  });
  await mode(named("distinct"), { url: graphqlUrl });
  await mode(named("single"), { url: `${graphqlUrl}/stream`, singleConnection: true });
}

async function mode(checks, options) {
  const shopper = createClient({ ...options, headers: bearer(world.tokens.shopper) });
  await followTheShop(checks, SKU, (operation) => shopper.iterate(operation));
  await checks.check("a query is answered by one result", async () => {
    const results = shopper.iterate({ query: "query Q($sku: ID!) { product(sku: $sku) { sku } }", variables: { sku: SKU } });
    await comes(results, (data) => data.product.sku === SKU);
    assert.equal((await results.next()).done, true);
  });
  await checks.check("twenty subscriptions at once, ended one by one", async () => {
    const many = Array.from({ length: 20 }, () =>
      shopper.iterate({ query: STOCK, variables: { sku: SKU } }),
    );
    await Promise.all(many.map((results) => results.next()));
    const changed = await receive(SKU, 2);
    for (const results of many) {
      await comes(results, (data) => data.stockChanged.available === changed);
      await results.return();
    }
  });
  await checks.check("`balanceChanged` is refused without a token", async () => {
    const anonymous = createClient({ ...options, retryAttempts: 0 });
    const id = await account();
    const results = anonymous.iterate({ query: BALANCE, variables: { id } });
    const { value } = await results.next();
    assert.equal(value.errors[0].extensions.code, "UNAUTHENTICATED");
    anonymous.dispose();
  });
  await checks.check("a false token is refused with 401", async () => {
    const forger = createClient({ ...options, headers: bearer("not.a.token"), retryAttempts: 0 });
    const results = forger.iterate({ query: STOCK, variables: { sku: SKU } });
    await assert.rejects(() => results.next(), ({ response }) => response?.status === 401);
  });
  shopper.dispose();
  await checks.check("clients of a gateway that stopped, or was killed, go on with the next", async () => {
    const gateway = new OwnGateway();
    await gateway.begin();
    const url = options.url.replace(world.url, gateway.url);
    const retry = () => new Promise((resolve) => setTimeout(resolve, 100));
    // For as long as a check lasts: beside other suites a gateway may take a while to come back.
    const watcher = createClient({ ...options, url, retryAttempts: 6_000, retry });
    const results = watcher.iterate({ query: STOCK, variables: { sku: SKU } });
    const goesOn = async () => {
      const changed = await receive(SKU, 1);
      await comes(results, (data) => data.stockChanged.available === changed);
    };
    await goesOn();
    for (const signal of ["SIGTERM", "SIGKILL"]) {
      await gateway.end(signal);
      await gateway.begin();
      await goesOn();
    }
    watcher.dispose();
    await gateway.end("SIGKILL");
  });
}
