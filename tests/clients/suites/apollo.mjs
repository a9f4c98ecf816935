// Apollo Client: queries, mutations, persisted queries, and subscriptions over WebSocket and multipart HTTP
// (https://www.apollographql.com/docs/graphos/routing/operations/subscriptions/multipart-protocol).

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

import { ApolloClient, ApolloLink, CombinedGraphQLErrors, HttpLink, InMemoryCache, gql } from "@apollo/client";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { relayStylePagination } from "@apollo/client/utilities";
import { buildSchema, isAbstractType } from "graphql";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";

import { followTheShop } from "../kit/following.mjs";
import { pulled } from "../kit/queue.mjs";
import { SCHEMA } from "../kit/schema_text.mjs";
import { idempotencyKey, newProduct } from "../kit/shop.mjs";
import { bearer, graphqlUrl, socketUrl, world } from "../kit/world.mjs";

export const title = "Apollo Client";
export const packages = ["@apollo/client", "graphql-ws"];

const { shopper, merchant } = world.tokens;
const SKU = await newProduct("apollo");
const schema = buildSchema(readFileSync(SCHEMA, "utf8"));
const PRODUCT = gql`
  query Product($sku: ID!) {
    product(sku: $sku) { id sku pricing { retail { minorUnits currency } } }
  }
`;

export async function run(checks) {
  await operations(checks);
  await persistedQueries(checks);
  await subscriptions(checks);
}

/** Which types an interface or a union stands for, as a build step of an application would write it down. */
const possibleTypes = Object.fromEntries(
  Object.values(schema.getTypeMap())
    .filter(isAbstractType)
    .map((type) => [type.name, schema.getPossibleTypes(type).map(({ name }) => name)]),
);

function client(link, typePolicies = {}) {
  return new ApolloClient({ link, cache: new InMemoryCache({ possibleTypes, typePolicies }) });
}

const http = (token, options = {}) => new HttpLink({ uri: graphqlUrl, headers: bearer(token), ...options });

async function operations(checks) {
  await checks.check("a mutation's answer changes what a query has cached", async () => {
    const apollo = client(http(merchant));
    const { data } = await apollo.query({ query: PRODUCT, variables: { sku: SKU } });
    const retail = data.product.pricing.retail.minorUnits - 1;
    const mutation = gql`
      mutation Price($sku: ID!, $retail: Long!) {
        setProductPrice(input: {sku: $sku, retail: $retail}) {
          ... on Product { id pricing { retail { minorUnits currency } } }
          ... on UserError { code message }
        }
      }
    `;
    await apollo.mutate({ mutation, variables: { sku: SKU, retail } });
    const cached = apollo.readQuery({ query: PRODUCT, variables: { sku: SKU } });
    assert.equal(cached.product.pricing.retail.minorUnits, retail);
  });
  await checks.check("pages of a connection are joined by `relayStylePagination`", async () => {
    const typePolicies = { Query: { fields: { people: relayStylePagination() } } };
    const apollo = client(http(), typePolicies);
    const query = gql`
      query People($after: String) {
        people(first: 3, after: $after) { edges { cursor node { id name } } pageInfo { hasNextPage endCursor } }
      }
    `;
    const people = apollo.watchQuery({ query });
    let following;
    const first = await new Promise((resolve, reject) => {
      const next = ({ data, error, loading }) => (error ? reject(error) : loading || resolve(data));
      following = people.subscribe(next);
    });
    await people.fetchMore({ variables: { after: first.people.pageInfo.endCursor } });
    const { edges } = apollo.readQuery({ query }).people;
    assert.equal(new Set(edges.map(({ node }) => node.id)).size, 6);
    following.unsubscribe();
  });
  await checks.check("a refused mutation is data with its code", async () => {
    const mutation = gql`
      mutation Add($cart: ID!) {
        addCartLine(input: {cartId: $cart, sku: "ALB-00004", quantity: 1}) { __typename ... on UserError { code } }
      }
    `;
    const { data, error } = await client(http(shopper)).mutate({ mutation, variables: { cart: "none" } });
    assert.equal(error, undefined);
    assert.ok(data.addCartLine.code, JSON.stringify(data));
  });
  await checks.check("what may not be asked is a GraphQL error with its code", async () => {
    const query = gql`query { myOrders(first: 1) { edges { node { id } } } }`;
    await assert.rejects(client(http()).query({ query }), (error) => {
      assert.ok(CombinedGraphQLErrors.is(error), String(error));
      return error.errors[0].extensions.code === "UNAUTHENTICATED";
    });
  });
}

/** Automatic persisted queries: the hash is sent, and the text only where the gateway doesn't know it. */
async function persistedQueries(checks) {
  const sha256 = (text) => createHash("sha256").update(text).digest("hex");
  // No gateway has seen this text before.
  const query = gql(`query Product_${idempotencyKey().replaceAll("-", "_")}($sku: ID!) { product(sku: $sku) { sku } }`);
  const sent = [];
  const persisted = (options = {}) => {
    const link = http(shopper, {
      fetch: (url, request) => {
        sent.push({ method: request.method, withText: /[?&]query=/.test(url) || /"query":/.test(request.body ?? "") });
        return fetch(url, request);
      },
    });
    return client(ApolloLink.from([new PersistedQueryLink({ sha256, ...options }), link]));
  };
  const asked = async (options) => {
    sent.length = 0;
    const { data } = await persisted(options).query({ query, variables: { sku: SKU } });
    assert.equal(data.product.sku, SKU);
    return sent.map(({ method, withText }) => `${method}${withText ? " with text" : ""}`);
  };
  await checks.check("persisted queries: an unknown hash is asked for with its text", async () =>
    assert.deepEqual(await asked(), ["POST", "POST with text"]),
  );
  await checks.check("persisted queries: a known hash is enough", async () =>
    assert.deepEqual(await asked(), ["POST"]),
  );
  await checks.check("persisted queries: a known hash is enough in a GET", async () =>
    assert.deepEqual(await asked({ useGETForHashedQueries: true }), ["GET"]),
  );
  await checks.check("persisted queries: a text under another text's hash is refused", async () => {
    const answer = await fetch(graphqlUrl, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        query: "{ __typename }",
        extensions: { persistedQuery: { version: 1, sha256Hash: sha256("another text") } },
      }),
    });
    const body = await answer.json();
    assert.ok(body.errors?.length > 0 && !body.data, JSON.stringify(body));
  });
}

async function subscriptions(checks) {
  const named = (name) => ({ check: (what, run) => checks.check(`${name}: ${what}`, run) });
  const over = (link) => {
    const apollo = client(link);
    return ({ query, variables }) =>
      pulled((sink) => {
        const following = apollo.subscribe({ query: gql(query), variables }).subscribe(sink);
        return () => following.unsubscribe();
      });
  };
  const socket = createClient({
    url: socketUrl,
    webSocketImpl: WebSocket,
    connectionParams: { Authorization: `Bearer ${shopper}` },
  });
  await followTheShop(named("WebSocket"), SKU, over(new GraphQLWsLink(socket)));
  await socket.dispose();
  await followTheShop(named("multipart"), SKU, over(http(shopper)));
}
