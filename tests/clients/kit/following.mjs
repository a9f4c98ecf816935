// The three subscriptions of the shop, the same over every transport.

import assert from "node:assert/strict";

import { account, cancel, deposit, order, receive } from "./shop.mjs";

export const STOCK = "subscription Stock($sku: ID!) { stockChanged(sku: $sku) { sku available } }";
export const ORDER = "subscription Order($id: ID!) { orderChanged(orderId: $id) { id state } }";
export const BALANCE =
  "subscription Balance($id: ID!) { balanceChanged(accountId: $id) { id balance { minorUnits } } }";

/**
 * Checks each of them: what is there comes first, then what it has changed to. `follow` answers an
 * async iterator over the results of one `{query, variables}`, asked with the shopper's token.
 */
export async function followTheShop(checks, sku, follow) {
  await checks.check("`stockChanged` tells what is there and what it changes to", async () => {
    const before = await receive(sku);
    const results = follow({ query: STOCK, variables: { sku } });
    await comes(results, (data) => data.stockChanged.available === before);
    await receive(sku, 3);
    await comes(results, (data) => data.stockChanged.available === before + 3);
    await results.return();
  });
  await checks.check("`orderChanged` tells of a cancellation", async () => {
    const id = await order(sku);
    const results = follow({ query: ORDER, variables: { id } });
    await comes(results, (data) => data.orderChanged.state === "PLACED");
    await cancel(id);
    await comes(results, (data) => data.orderChanged.state === "CANCELLED");
    await results.return();
  });
  await checks.check("`balanceChanged` tells an account's owner of a deposit", async () => {
    const id = await account(500);
    const results = follow({ query: BALANCE, variables: { id } });
    await comes(results, (data) => data.balanceChanged.balance.minorUnits === 500);
    await deposit(id, 250);
    await comes(results, (data) => data.balanceChanged.balance.minorUnits === 750);
    await results.return();
  });
}

/** The first result that is as wanted; others may come before it, errors may not. */
export async function comes(results, wanted) {
  for (;;) {
    const { value, done } = await results.next();
    assert.ok(!done, "the stream ended");
    assert.ok(!value.errors, JSON.stringify(value.errors));
    if (wanted(value.data)) return value.data;
  }
}
