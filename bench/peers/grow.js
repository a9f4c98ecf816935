// Fills a database with so many documents of each kind, made from those of the shop, for the table of what
// reads look at: `node grow.js TARGET COUNT`. Settings: MONGODB_URI, DATABASE (the shop's).
// A database that is full already stays as it is. What a document holds follows from its number alone, so that who asks knows the keys: growth.py.
import { Long, MongoClient } from "mongodb";

const { MONGODB_URI = "mongodb://127.0.0.1:27017", DATABASE = "docgate" } = process.env;
const [target, given] = process.argv.slice(2);
const count = Number(given);

/** Documents that belong together: products of a category, orders of a shopper, and so on. */
const GROUP = 50;
const AT_ONCE = 2_000;

const client = await new MongoClient(MONGODB_URI, { writeConcern: { w: 1 } }).connect();
const shop = client.db(DATABASE);
const grown = client.db(target);

const padded = (number) => String(number).padStart(7, "0");
const group = (number) => Math.floor(number / GROUP);
const long = (number) => Long.fromNumber(number);
const sku = (number) => `GROWN-${padded(number)}`;
const on = (number) => new Date(Date.UTC(2026, 0, 1) + number * 1000);
const coordinate = (amount) => Math.log2(amount + 1);

/** Ten groups lie in one branch, and so do ten branches in one root. */
function path(place) {
  const branch = Math.floor(place / 10);
  return `/root-${Math.floor(branch / 10)}/branch-${branch}/place-${place}`;
}

const within = (whole) =>
  whole
    .split("/")
    .slice(1)
    .map((_, at, steps) => `/${steps.slice(0, at + 1).join("/")}`);

const makers = {
  products(template, number) {
    const title = `${template.title} ${padded(number)}`;
    const retail = 100 + ((number * 7919) % 10_000_000);
    const weight = 10 + ((number * 104_729) % 1_000_000);
    const whole = path(group(number));
    const steps = within(whole);
    const category = {
      ...template.categories[0],
      _id: `category-${group(number)}`,
      slug: whole.split("/").at(-1),
      path: whole,
      parentPath: steps.at(-2),
      within: steps,
    };
    const person = { personId: `person-${group(number)}`, name: `Person ${group(number)}` };
    const percent = number % 50;
    return {
      ...template,
      _id: sku(number),
      title,
      titleKey: `${padded(number)} ${template.titleKey}`,
      description: `${template.description} Item ${padded(number)}.`,
      issued: on(number).toISOString().slice(0, 10),
      details: { ...template.details, genres: [`Genre ${group(number)}`] },
      properties: [
        { key: "batch", value: `batch ${group(number)}` },
        { key: "parity", value: number % 2 ? "odd" : "even" },
      ],
      shipping: { ...template.shipping, weight: long(weight) },
      pricing: {
        ...template.pricing,
        retail: long(retail),
        list: long(Math.ceil((retail * 100) / (100 - percent))),
        savings: long(Math.ceil((retail * 100) / (100 - percent)) - retail),
        pctSavings: percent,
      },
      plane: [coordinate(retail), coordinate(weight)],
      categories: [category],
      contributors: [{ ...template.contributors[0], ...person, role: "author" }],
    };
  },
  inventory: (template, number) => ({ ...template, _id: sku(number) }),
  people: (template, number) => ({
    ...template,
    _id: `person-${number}`,
    name: `Person ${padded(number)}`,
    nameKey: `person ${padded(number)}`,
  }),
  categories(template, number) {
    const whole = path(number);
    const steps = within(whole);
    const ancestors = steps.slice(0, -1).map((step) => ({
      _id: `category${step}`,
      slug: step.split("/").at(-1),
      names: template.names,
    }));
    return {
      ...template,
      _id: `category-${number}`,
      slug: whole.split("/").at(-1),
      path: whole,
      parentPath: steps.at(-2),
      parentId: ancestors.at(-1)._id,
      ancestors,
    };
  },
  carts: (template, number) => ({ ...template, _id: `cart-${number}`, owner: owner(number) }),
  orders: (template, number) => ({
    ...template,
    _id: `order-${number}`,
    owner: owner(number),
    placedAt: on(number),
  }),
  accounts: (template, number) => ({
    ...template,
    _id: `account-${number}`,
    owner: owner(number),
    openedAt: on(number),
  }),
  transfers: (template, number) => ({
    ...template,
    _id: `transfer-${number}`,
    source: `account-${group(number)}`,
    destination: `account-${group(number) + 1}`,
    accounts: [`account-${group(number)}`, `account-${group(number) + 1}`],
    at: on(number),
  }),
};

const owner = (number) => `owner-${group(number)}`;

/** Documents of the shop that the others are made from. */
async function templates(collection) {
  const shape = {
    products: { type: "album", "contributors.0": { $exists: true }, plane: { $exists: true } },
    carts: { state: "ACTIVE" },
    orders: { state: "PLACED" },
    accounts: { kind: "PERSONAL" },
    transfers: { kind: "DEPOSIT", state: "DONE" },
  };
  const found = await shop
    .collection(collection)
    .find(shape[collection] ?? {}, { promoteLongs: false })
    .limit(100)
    .toArray();
  if (found.length === 0) throw new Error(`the shop has no ${collection} to begin with`);
  return found;
}

// The demo's mongod has a small cache. What is compared is how reads grow, not how large the cache is: twenty
// products from all over a million stand on twenty pages of it, again and again others.
const cache = { setParameter: 1, wiredTigerEngineRuntimeConfig: "cache_size=4G" };
await client.db("admin").command(cache);

const counts = Object.keys(makers).map((name) => grown.collection(name).estimatedDocumentCount());
if ((await Promise.all(counts)).every((there) => there === count)) {
  await client.close();
  process.exit();
}
await grown.dropDatabase();
for (const [name, make] of Object.entries(makers)) {
  const from = await templates(name);
  let next = 0;
  const work = async () => {
    while (next < count) {
      const begin = next;
      next = Math.min(begin + AT_ONCE, count);
      const numbers = Array.from({ length: next - begin }, (_, at) => begin + at);
      const made = numbers.map((number) => make(from[number % from.length], number));
      await grown.collection(name).insertMany(made, { ordered: false });
    }
  };
  await Promise.all([work(), work()]);
  console.log(`${name}: ${await grown.collection(name).estimatedDocumentCount()}`);
}
await client.close();
