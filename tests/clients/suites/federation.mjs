// Apollo Federation 2: docgate composed with a second subgraph, and asked through a gateway over both.

import assert from "node:assert/strict";

import { composeServices } from "@apollo/composition";
import { ApolloGateway, RemoteGraphQLDataSource } from "@apollo/gateway";
import { ApolloServer } from "@apollo/server";
import { parse } from "graphql";

import { reviews, typeDefs } from "../kit/reviews.mjs";
import { idempotencyKey } from "../kit/shop.mjs";
import { OwnGateway, ask } from "../kit/world.mjs";

export const title = "Apollo Federation 2: composed with a second subgraph";
export const packages = ["@apollo/composition", "@apollo/gateway", "@apollo/subgraph", "@apollo/server"];

export async function run(checks) {
  const docgate = new OwnGateway({ DOCGATE_FEDERATION: "true" });
  await docgate.begin();
  const second = await reviews();
  const url = `${docgate.url}/graphql`;
  try {
    const { data } = await ask("{ _service { sdl } }", {}, undefined, url);
    const services = [
      { name: "docgate", typeDefs: parse(data._service.sdl), url },
      { name: "reviews", typeDefs, url: second.url },
    ];
    let supergraphSdl;
    await checks.check("`_service` composes with the other subgraph, without errors or hints", async () => {
      const composed = composeServices(services);
      assert.deepEqual(composed.errors ?? [], []);
      assert.deepEqual(composed.hints.map(({ message }) => message), []);
      supergraphSdl = composed.supergraphSdl;
    });
    await throughTheGateway(checks, supergraphSdl, docgate);
  } finally {
    await second.end();
    await docgate.end("SIGKILL");
  }
}

async function throughTheGateway(checks, supergraphSdl, docgate) {
  const sent = [];
  const buildService = ({ name, url }) =>
    new RemoteGraphQLDataSource({
      url,
      willSendRequest({ request, context }) {
        sent.push({ name, query: request.query });
        if (context?.token) request.http.headers.set("authorization", `Bearer ${context.token}`);
      },
    });
  const server = new ApolloServer({ gateway: new ApolloGateway({ supergraphSdl, buildService }) });
  await server.start();
  const through = async (query, variables = {}, token = undefined) => {
    sent.length = 0;
    const { body } = await server.executeOperation({ query, variables }, { contextValue: { token } });
    return body.singleResult;
  };

  await checks.check("a product of docgate has reviews of the other", async () => {
    const query = `{ product(sku: "ALB-00001") { __typename sku title reviews { stars } } }`;
    const { data, errors } = await through(query);
    assert.equal(errors, undefined);
    assert.equal(data.product.__typename, "Album");
    assert.ok(data.product.title);
    assert.deepEqual(data.product.reviews.map(({ stars }) => stars), [5, 3]);
  });
  await checks.check("reviews have their products' titles, asked of docgate in one request", async () => {
    const query = `{ latestReviews { stars product { __typename title ... on Album { tracks { title } } } } }`;
    const { data, errors } = await through(query);
    assert.equal(errors, undefined);
    assert.deepEqual(data.latestReviews.map(({ product }) => product.__typename), ["Album", "Album", "Album"]);
    assert.ok(data.latestReviews.every(({ product }) => product.title));
    assert.equal(sent.filter(({ name }) => name === "docgate").length, 1);
  });
  await checks.check("a list of docgate's is extended in one request", async () => {
    const { data, errors } = await through(`{ people(first: 5) { edges { node { name knownFor } } } }`);
    assert.equal(errors, undefined);
    assert.equal(data.people.edges.length, 5);
    assert.ok(data.people.edges.every(({ node }) => node.knownFor === "being in the demo"));
    assert.equal(sent.filter(({ name }) => name === "reviews").length, 1);
  });
  await checks.check("a mutation with a token goes through, and a refusal comes back", async () => {
    const mutation = `mutation($idempotencyKey: ID!) {
      openCart(input: {policy: AT_CHECKOUT, currency: "EUR", idempotencyKey: $idempotencyKey}) { ... on Cart { state } ... on UserError { code } }
    }`;
    const { data } = await through(mutation, { idempotencyKey: idempotencyKey() }, docgate.token("anna"));
    assert.equal(data.openCart.state, "ACTIVE");
    const { errors } = await through(`{ myOrders(first: 1) { edges { node { id } } } }`);
    assert.equal(errors[0].extensions.code, "UNAUTHENTICATED");
  });
  await server.stop();
}
