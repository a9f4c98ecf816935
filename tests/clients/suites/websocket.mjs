// Subscriptions, queries and mutations over WebSocket:
// https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md, and its older sub-protocol
// https://github.com/apollographql/subscriptions-transport-ws/blob/master/PROTOCOL.md

import assert from "node:assert/strict";

import { createClient } from "graphql-ws";
import transportWs from "subscriptions-transport-ws";
import { WebSocket } from "ws";

import { eventually } from "../kit/checks.mjs";
import { BALANCE, STOCK, comes, followTheShop } from "../kit/following.mjs";
import { pulled } from "../kit/queue.mjs";
import { account, idempotencyKey, newProduct, receive } from "../kit/shop.mjs";
import { OwnGateway, socketUrl, world } from "../kit/world.mjs";

export const title = "WebSocket: graphql-transport-ws, and the older graphql-ws";
export const packages = ["graphql-ws", "subscriptions-transport-ws", "ws"];

const SKU = await newProduct("websocket");

export async function run(checks) {
  await operations(checks);
  await authentication(checks);
  await reconnects(checks);
  await olderProtocol(checks);
}

function client(token, options = {}) {
  const connectionParams = token ? { Authorization: `Bearer ${token}` } : undefined;
  return createClient({ url: socketUrl, webSocketImpl: WebSocket, connectionParams, ...options });
}

async function operations(checks) {
  let pongs = 0;
  const on = { pong: (received) => (pongs += received ? 1 : 0) };
  const shopper = client(world.tokens.shopper, { lazy: false, keepAlive: 200, on });
  const once = async (query, variables) => {
    const results = shopper.iterate({ query, variables });
    const { value } = await results.next();
    assert.equal((await results.next()).done, true, "one result, then complete");
    return value;
  };
  await checks.check("a query is answered by one result", async () => {
    const { data } = await once("query Q($sku: ID!) { product(sku: $sku) { sku } }", { sku: SKU });
    assert.deepEqual(data, { product: { sku: SKU } });
  });
  await checks.check("a mutation is answered by one result", async () => {
    const text = `mutation M($idempotencyKey: ID!) { openCart(input: {policy: RESERVE, currency: "EUR", idempotencyKey: $idempotencyKey}) { ... on Cart { state } } }`;
    assert.equal((await once(text, { idempotencyKey: idempotencyKey() })).data.openCart.state, "ACTIVE");
  });
  await checks.check("a text that doesn't fit the schema is told as an error", async () => {
    const results = shopper.iterate({ query: "subscription { nothingChanged }" });
    await assert.rejects(async () => {
      const { value } = await results.next();
      throw value.errors;
    }, (errors) => Array.isArray(errors) && errors.length > 0);
  });
  await checks.check("a hundred subscriptions share one socket and end one by one", async () => {
    const many = Array.from({ length: 100 }, () =>
      shopper.iterate({ query: STOCK, variables: { sku: SKU } }),
    );
    await Promise.all(many.map((results) => results.next()));
    const changed = await receive(SKU, 2);
    await Promise.all(
      many.map((results) => comes(results, (data) => data.stockChanged.available === changed)),
    );
    await Promise.all(many.map((results) => results.return()));
  });
  await checks.check("a ping is answered by a pong", () => eventually(() => pongs > 0));
  await followTheShop(checks, SKU, (operation) => shopper.iterate(operation));
  await shopper.dispose();
}

async function authentication(checks) {
  await checks.check("`balanceChanged` is refused without a token", async () => {
    const anonymous = client();
    const id = await account();
    const results = anonymous.iterate({ query: BALANCE, variables: { id } });
    assert.equal(await refusal(results), "UNAUTHENTICATED");
    await anonymous.dispose();
  });
  await checks.check("a false token closes the socket with 4401 or 4403", async () => {
    const closed = new Promise((resolve) => {
      client("not.a.token", { lazy: false, retryAttempts: 0, on: { closed: resolve }, onNonLazyError: () => {} });
    });
    const { code } = await closed;
    assert.ok([4401, 4403].includes(code), `closed with ${code}`);
  });
}

/** The code of the error with which a subscription ends. */
async function refusal(results) {
  try {
    const { value } = await results.next();
    return value?.errors?.[0]?.extensions?.code;
  } catch (errors) {
    return errors[0]?.extensions?.code ?? errors;
  }
}

/** The client connects again by itself, and its subscriptions go on. */
async function reconnects(checks) {
  const gateway = new OwnGateway();
  await gateway.begin();
  const following = (endings, connectionParams) =>
    createClient({
      url: `${gateway.url}/graphql`.replace("http", "ws"),
      webSocketImpl: WebSocket,
      connectionParams,
      // For as long as a check lasts: beside other suites a gateway may take a while to come back.
      retryAttempts: 6_000,
      // By itself the client gives up where nobody listens for a moment, as between two gateways.
      shouldRetry: () => true,
      retryWait: () => new Promise((resolve) => setTimeout(resolve, 100)),
      on: { closed: ({ code }) => endings.push(code) },
    });

  const endings = [];
  const watcher = following(endings);
  const results = watcher.iterate({ query: STOCK, variables: { sku: SKU } });
  const goesOn = async () => {
    const changed = await receive(SKU, 1);
    await comes(results, (data) => data.stockChanged.available === changed);
  };
  await goesOn();
  await checks.check("a gateway that stops closes its sockets, exits with 0, and its clients go on with the next", async () => {
    assert.equal(await gateway.end("SIGTERM"), 0);
    await gateway.begin();
    await goesOn();
    const code = endings.shift();
    assert.ok([1001, 1012].includes(code), `closed with ${code}`);
  });
  await checks.check("clients of a gateway that was killed go on with the next", async () => {
    await gateway.end("SIGKILL");
    await gateway.begin();
    await goesOn();
    assert.equal(endings.shift(), 1006);
  });
  await watcher.dispose();

  await checks.check("a socket is cut when its token expires, and goes on with a fresh one", async () => {
    const cuts = [];
    let asked = 0;
    const renewing = following(cuts, () => {
      asked += 1;
      return { Authorization: `Bearer ${gateway.token("anna", [], asked === 1 ? "2s" : "1h")}` };
    });
    const own = renewing.iterate({ query: STOCK, variables: { sku: SKU } });
    await own.next();
    await eventually(() => asked === 2);
    assert.deepEqual(cuts, [4403]);
    const changed = await receive(SKU, 1);
    await comes(own, (data) => data.stockChanged.available === changed);
    await renewing.dispose();
  });
  await gateway.end("SIGKILL");
}

async function olderProtocol(checks) {
  await checks.check("a client of the older sub-protocol gets results and completes", async () => {
    const older = new transportWs.SubscriptionClient(
      socketUrl,
      // By itself the client gives up for good when the socket isn't open after a second.
      { connectionParams: { Authorization: `Bearer ${world.tokens.shopper}` }, minTimeout: 30_000 },
      WebSocket,
    );
    const follow = (operation) => {
      const observable = older.request(operation);
      return pulled((sink) => {
        const following = observable.subscribe(sink);
        return () => following.unsubscribe();
      });
    };
    const before = await receive(SKU);
    const results = follow({ query: STOCK, variables: { sku: SKU } });
    await comes(results, (data) => data.stockChanged.available === before);
    await receive(SKU, 4);
    await comes(results, (data) => data.stockChanged.available === before + 4);
    await results.return();
    const query = follow({ query: "query Q($sku: ID!) { product(sku: $sku) { sku } }", variables: { sku: SKU } });
    await comes(query, (data) => data.product.sku === SKU);
    assert.equal((await query.next()).done, true);
    older.close();
  });
}
