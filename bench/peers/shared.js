// What the three servers have in common: the connection, the schema with its resolvers, what a
// request carries, and how the process ends. Settings: MONGODB_URI, DATABASE, PORT.
import { readFileSync } from "node:fs";
import { makeExecutableSchema } from "@graphql-tools/schema";
import DataLoader from "dataloader";
import { MongoClient } from "mongodb";
import { carts } from "./carts.js";
import { PRODUCT, reads } from "./reads.js";
import { scalars } from "./values.js";

const {
  MONGODB_URI = "mongodb://127.0.0.1:27017",
  DATABASE = "docgate",
  PORT = "4000",
} = process.env;

export const listening = { host: "127.0.0.1", port: Number(PORT) };
/** Longer than any pause of a client between two requests. */
export const KEEP_ALIVE_MILLIS = 72_000;

export const schema = makeExecutableSchema({
  typeDefs: readFileSync(new URL("schema.graphql", import.meta.url), "utf8"),
  resolvers: [scalars, reads, carts],
});

const client = new MongoClient(MONGODB_URI, {
  appName: "docgate-bench-peer",
  maxPoolSize: 64,
  writeConcern: { w: "majority" },
});
await client.connect();
const database = client.db(DATABASE);

const collections = {
  products: database.collection("products"),
  categories: database.collection("categories"),
  carts: database.collection("carts"),
};

/** The documents with these unique keys, in their order. A single one is the server's fast path. */
const byKey = (collection, field, projection) => async (keys) => {
  if (keys.length === 1) return [await collection.findOne({ [field]: keys[0] }, { projection })];
  const filter = { [field]: { $in: keys } };
  const found = await collection.find(filter, { projection, batchSize: keys.length + 1 }).toArray();
  const places = new Map(found.map((document) => [document[field], document]));
  return keys.map((key) => places.get(key) ?? null);
};

const loads = {
  product: byKey(collections.products, "_id", PRODUCT),
  category: byKey(collections.categories, "_id"),
  categoryByPath: byKey(collections.categories, "path"),
  categoryBySlug: byKey(collections.categories, "slug"),
};

/** What one request carries: the collections, and its own loaders, made when first used. */
export function context() {
  const loaders = {};
  const load = (name, key) => (loaders[name] ??= new DataLoader(loads[name])).load(key);
  return { collections, load };
}

/** Says that the server listens, and ends the process on SIGTERM. */
export function ready(close) {
  process.once("SIGTERM", async () => {
    await close();
    await client.close();
    process.exit(0);
  });
  console.log("ready");
}
