// Request bodies from the templates of requests.json, filled from the database, drawn at random but
// always the same. `node bodies.js product 1000 > product.txt` writes one a line for requests.lua.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { MongoClient } from "mongodb";
import { randomizer } from "./random.js";

export const requests = JSON.parse(readFileSync(new URL("requests.json", import.meta.url), "utf8"));

/** Where the values of each placeholder come from. */
async function values(database) {
  const of = async (collection, field, filter = {}) => {
    const found = await database
      .collection(collection)
      .find(filter, { projection: { [field]: 1 }, sort: { [field]: 1 }, limit: 50_000 })
      .toArray();
    return [...new Set(found.map((document) => document[field]))];
  };
  const open = {
    state: "ACTIVE",
    policy: "AT_CHECKOUT",
    owner: { $exists: false },
    currency: "EUR",
  };
  const carts = await of("carts", "_id", open);
  const parents = await of("categories", "parentPath");
  return {
    sku: await of("products", "_id", { deletedAt: { $exists: false } }),
    category: await of("categories", "path"),
    slug: await of("categories", "slug"),
    parent: parents.filter((path) => path !== "/"),
    percent: [5, 10, 15, 20, 25, 30],
    cart: carts.map((key) => Buffer.from(`cart:${key}`).toString("base64url")),
  };
}

/** Fills the placeholders of the request of that name, again and again. */
export async function drawing(database, seed = 1) {
  const known = await values(database);
  const below = randomizer(seed);
  return (name, given = {}) => {
    const { query, variables = {} } = requests[name];
    const fill = (value) => {
      const placeholder = /^\{(\w+)\}$/.exec(value)?.[1];
      if (!placeholder) return value;
      if (placeholder in given) return given[placeholder];
      const candidates = known[placeholder];
      if (!candidates.length) throw new Error(`the database has no ${placeholder}`);
      return candidates[below(candidates.length)];
    };
    const filled = Object.entries(variables).map(([key, value]) => [key, fill(value)]);
    return { query, variables: Object.fromEntries(filled) };
  };
}

export async function withDatabase(work) {
  const { MONGODB_URI = "mongodb://127.0.0.1:27017", DATABASE = "docgate" } = process.env;
  const client = await MongoClient.connect(MONGODB_URI);
  try {
    return await work(client.db(DATABASE));
  } finally {
    await client.close();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [name = "product", count = "1000"] = process.argv.slice(2);
  await withDatabase(async (database) => {
    const draw = await drawing(database);
    for (let at = 0; at < Number(count); at += 1) console.log(JSON.stringify(draw(name)));
  });
}
