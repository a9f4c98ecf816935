// urql: queries by GET and POST, mutations, and subscriptions over server-sent events, its own and those of
// graphql-sse.

import assert from "node:assert/strict";

import { Client, fetchExchange, gql, subscriptionExchange } from "@urql/core";
import { createClient } from "graphql-sse";

import { followTheShop } from "../kit/following.mjs";
import { pulled } from "../kit/queue.mjs";
import { idempotencyKey, newProduct } from "../kit/shop.mjs";
import { bearer, graphqlUrl, world } from "../kit/world.mjs";

export const title = "urql";
export const packages = ["@urql/core", "graphql-sse"];

const SKU = await newProduct("urql");
const PRODUCT = gql`
  query Product($sku: ID!) {
    product(sku: $sku) { sku }
  }
`;

function client(options = {}, exchanges = [fetchExchange]) {
  const fetchOptions = { headers: bearer(world.tokens.shopper) };
  return new Client({ url: graphqlUrl, exchanges, fetchOptions, ...options });
}

export async function run(checks) {
  for (const [method, preferGetMethod] of [["GET", "force"], ["POST", false]]) {
    await checks.check(`a query by ${method}`, async () => {
      let used;
      const watched = (url, request) => {
        used = request.method;
        return fetch(url, request);
      };
      const urql = client({ preferGetMethod, fetch: watched });
      const { data, error } = await urql.query(PRODUCT, { sku: SKU });
      assert.equal(error, undefined);
      assert.deepEqual({ used, sku: data.product.sku }, { used: method, sku: SKU });
    });
  }
  await checks.check("a mutation", async () => {
    const mutation = gql`
      mutation Open($idempotencyKey: ID!) {
        openCart(input: {policy: AT_CHECKOUT, currency: "EUR", idempotencyKey: $idempotencyKey}) { ... on Cart { id state } ... on UserError { code } }
      }
    `;
    const { data, error } = await client().mutation(mutation, { idempotencyKey: idempotencyKey() });
    assert.equal(error, undefined);
    assert.equal(data.openCart.state, "ACTIVE");
  });
  await checks.check("an error has its code", async () => {
    const query = gql`{ transfers(state: PENDING) { edges { node { id } } } }`;
    const { error } = await client().query(query, {});
    assert.equal(error.graphQLErrors[0].extensions.code, "FORBIDDEN");
  });

  const named = (name) => ({ check: (what, run) => checks.check(`${name}: ${what}`, run) });
  const follow = (urql) => ({ query, variables }) =>
    pulled((sink) => {
      const next = ({ data, error }) => sink.next({ data, errors: error && [error] });
      const following = urql.subscription(gql(query), variables).subscribe(next);
      return () => following.unsubscribe();
    });
  await followTheShop(named("its own events"), SKU, follow(client({ fetchSubscriptions: true })));

  const events = createClient({ url: graphqlUrl, headers: bearer(world.tokens.shopper) });
  const forwardSubscription = ({ query, variables }) => ({
    subscribe: (sink) => ({ unsubscribe: events.subscribe({ query, variables }, sink) }),
  });
  const exchanges = [fetchExchange, subscriptionExchange({ forwardSubscription })];
  await followTheShop(named("graphql-sse"), SKU, follow(client({}, exchanges)));
  events.dispose();
}
