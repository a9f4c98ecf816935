// A second, small subgraph: reviews of products, and what people are known for.

import { createServer } from "node:http";

import { buildSubgraphSchema } from "@apollo/subgraph";
import { parse } from "graphql";
import { createHandler } from "graphql-http/lib/use/http";

export const typeDefs = parse(`
  extend schema
    @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key", "@interfaceObject"])

  type Query {
    latestReviews: [Review!]!
  }

  type Review {
    stars: Int!
    product: Product!
  }

  # Every type of product has reviews; this service needn't know the types.
  type Product @key(fields: "sku") @interfaceObject {
    sku: ID!
    reviews: [Review!]!
  }

  type Person @key(fields: "id") {
    id: ID!
    knownFor: String!
  }
`);

const REVIEWS = [
  { sku: "ALB-00001", stars: 5 },
  { sku: "ALB-00002", stars: 4 },
  { sku: "ALB-00001", stars: 3 },
];

const review = ({ sku, stars }) => ({ stars, product: { __typename: "Product", sku } });

const resolvers = {
  Query: { latestReviews: () => REVIEWS.map(review) },
  Product: {
    __resolveReference: ({ sku }) => ({ sku }),
    reviews: ({ sku }) => REVIEWS.filter((one) => one.sku === sku).map(review),
  },
  Person: {
    __resolveReference: ({ id }) => ({ id }),
    knownFor: () => "being in the demo",
  },
};

/** Serves it on a free port: `{url, end}`. */
export async function reviews() {
  const handler = createHandler({ schema: buildSubgraphSchema({ typeDefs, resolvers }) });
  const server = createServer(handler);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const end = () => new Promise((resolve) => server.close(resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, end };
}
