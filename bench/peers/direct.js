// The simulator's scenarios straight through the driver: `node direct.js setup`, then
// `node direct.js run SCENARIO --seconds 10 --in-flight 50 --write-concern 1`, else "majority". What a run removes
// was there before: `setup --runs 6` leaves enough for so many, each with another `--number`. `finish COLLECTION`
// puts finished jobs into it. Settings:
// MONGODB_URI, DATABASE.
import { parseArgs } from "node:util";
import { Long, MongoClient, ObjectId } from "mongodb";
import { copies } from "./copies.js";
import { finish, queue } from "./jobs.js";
import { randomizer } from "./random.js";

const { MONGODB_URI = "mongodb://127.0.0.1:27017", DATABASE = "docgate" } = process.env;

const WIDTH = 5;
const DEPTH = 5;
const PRODUCTS = 16_384;
/** Documents on a page: what docgate shows where nobody says how many. */
const PAGE = 20;

const ITEMS = 1_000;
const ITEM_BYTES = 1_000;
const IN_STOCK = 1_000_000;
const LINES = 5;

const ACCOUNTS = 10_000;
const BALANCE = 100_000;
const AMOUNT = 100;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: "string", default: "10" },
    "in-flight": { type: "string", default: "50" },
    "warm-up": { type: "string", default: "3" },
    "write-concern": { type: "string", default: "majority" },
    runs: { type: "string", default: "6" },
    number: { type: "string", default: "0" },
    count: { type: "string", default: "1000000" },
  },
});
const [action, name] = positionals;

const client = new MongoClient(MONGODB_URI, {
  appName: "docgate-bench-direct",
  writeConcern: { w: values["write-concern"] === "1" ? 1 : "majority" },
});
const collection = (name) => client.db(DATABASE).collection(`direct_${name}`);

const categories = collection("categories");
const products = collection("products");
const items = collection("items");
const stock = collection("stock");
const carts = collection("carts");
const orders = collection("orders");
const accounts = collection("accounts");
const transactions = collection("transactions");

const below = randomizer(1);

const itemId = (at) => `item-${String(at).padStart(4, "0")}`;
const accountId = (at) => `account-${String(at).padStart(5, "0")}`;

/** `count` different ones of the numbers below `bound`. */
function different(count, bound) {
  const drawn = new Set();
  while (drawn.size < count) drawn.add(below(bound));
  return [...drawn];
}

// ---- Data ----

/** The tree, level by level: 5 + 25 + 125 + 625 + 3,125 categories. */
function tree() {
  const all = [];
  let level = [{ _id: null, path: "" }];
  for (let depth = 1; depth <= DEPTH; depth += 1) {
    level = level.flatMap((parent) =>
      Array.from({ length: WIDTH }, (_, at) => {
        const number = all.length + 1;
        const slug = `category-${number}`;
        const category = {
          _id: slug,
          slug,
          name: `Category ${number}`,
          parentId: parent._id,
          parentPath: parent.path || "/",
          path: `${parent.path}/${slug}`,
        };
        all.push(category);
        return category;
      }),
    );
  }
  return all;
}

const words = [
  "river",
  "lamp",
  "winter",
  "garden",
  "signal",
  "harbour",
  "velvet",
  "engine",
  "meadow",
  "copper",
];

function prose(bytes) {
  let text = "";
  while (text.length < bytes) text += `${words[below(words.length)]} `;
  return text.slice(0, bytes);
}

const product = (number) => ({
  title: `${words[below(words.length)]} ${words[below(words.length)]} ${number}`,
  description: prose(ITEM_BYTES - 200),
  pricing: { list: 2_000 + below(1_000), retail: 1_000 + below(1_000), currency: "EUR" },
});

async function fill(target, documents, indexes = []) {
  await target.drop();
  for (const keys of indexes) await target.createIndex(keys);
  for (let at = 0; at < documents.length; at += 1_000) {
    await target.insertMany(documents.slice(at, at + 1_000), { ordered: false });
  }
}

const [runs, number] = [values.runs, values.number].map(Number);
const queued = queue(collection("jobs"));
const copied = copies({ collection, fill, product, below, runs, number });

async function setup() {
  const all = tree();
  await fill(categories, all, [{ parentPath: 1, slug: 1 }, { path: 1 }]);
  const placed = Array.from({ length: PRODUCTS }, (_, at) => ({
    _id: `product-${at}`,
    ...product(at),
    category: all[at % all.length]._id,
  }));
  await fill(products, placed, [{ category: 1, title: 1, _id: 1 }]);

  const numbers = Array.from({ length: ITEMS }, (_, at) => at);
  await fill(
    items,
    numbers.map((at) => ({ _id: itemId(at), ...product(at) })),
  );
  const shelf = (at) => ({
    _id: itemId(at),
    available: Long.fromNumber(IN_STOCK),
    reservations: [],
  });
  await fill(stock, numbers.map(shelf), [{ "reservations.cart": 1 }]);
  await fill(carts, []);
  await fill(orders, []);

  const account = (at) => ({ _id: accountId(at), balance: Long.fromNumber(BALANCE), pending: [] });
  await fill(
    accounts,
    Array.from({ length: ACCOUNTS }, (_, at) => account(at)),
  );
  await fill(transactions, []);
  await copied.setup();
  await queued.setup();
}

// ---- Categories and their products ----

let known = [];

/** The paths to draw from. */
async function readPaths() {
  const found = await categories.find({}, { projection: { path: 1 }, sort: { path: 1 } }).toArray();
  if (!found.length) throw new Error("there are no data: run `node direct.js setup` first");
  known = found;
}

const anyCategory = () => known[below(known.length)];
const onPage = (cursor) => cursor.limit(PAGE).toArray();
/** `/` sorts right before `0`: everything below a path is one range. */
const subtree = (path) => ({ path: { $gte: `${path}/`, $lt: `${path}0` } });
const ids = async (filter) =>
  (await categories.find(filter, { projection: { _id: 1 } }).toArray()).map(({ _id }) => _id);
const productsOf = (category) => onPage(products.find({ category }).sort({ title: 1, _id: 1 }));

const categoryChildren = () =>
  onPage(categories.find({ parentPath: anyCategory().path }).sort({ slug: 1 }));
const categorySubtree = () =>
  onPage(categories.find(subtree(anyCategory().path)).sort({ path: 1 }));
const productsOfCategory = () => productsOf(anyCategory()._id);

async function productsOfChildren() {
  return productsOf({ $in: await ids({ parentPath: anyCategory().path }) });
}

async function productsOfSubtree() {
  const { _id, path } = anyCategory();
  return productsOf({ $in: [_id, ...(await ids(subtree(path)))] });
}

// ---- Carts ----

async function openCart() {
  const now = new Date();
  const cart = { _id: new ObjectId(), state: "ACTIVE", lines: [], openedAt: now, modifiedAt: now };
  await carts.insertOne(cart);
  return cart._id;
}

/** Whether exactly one document passed the guard. */
function guarded({ matchedCount }) {
  if (matchedCount !== 1) throw new Error("a guard refused");
}

async function addLine(cart, item) {
  const { _id: sku, title, pricing } = await items.findOne({ _id: item });
  const line = { sku, title, quantity: 1, unitPrice: pricing.retail };
  const change = { $push: { lines: line }, $currentDate: { modifiedAt: true } };
  guarded(await carts.updateOne({ _id: cart, state: "ACTIVE" }, change));
}

async function reserve(cart, item) {
  const guard = { _id: item, available: { $gte: 1 } };
  const entry = { cart, quantity: 1, at: new Date() };
  guarded(
    await stock.updateOne(guard, { $inc: { available: -1 }, $push: { reservations: entry } }),
  );
}

async function order({ _id: cart, lines }) {
  const total = lines.reduce((sum, { unitPrice, quantity }) => sum + unitPrice * quantity, 0);
  await orders.insertOne({ cart, lines, total, placedAt: new Date() });
}

async function complete(cart) {
  const change = { $set: { state: "COMPLETE" }, $currentDate: { modifiedAt: true } };
  guarded(await carts.updateOne({ _id: cart, state: "ACTIVE" }, change));
}

/** What was reserved is sold. */
const commit = (cart) =>
  stock.updateMany({ "reservations.cart": cart }, { $pull: { reservations: { cart } } });

const anyItems = () => different(LINES, ITEMS).map(itemId);

async function cartWithReservation() {
  const cart = await openCart();
  await Promise.all(
    anyItems().map(async (item) => {
      await addLine(cart, item);
      await reserve(cart, item);
    }),
  );
  const filled = await carts.findOne({ _id: cart });
  await order(filled);
  await complete(cart);
  await commit(cart);
}

async function cartWithoutReservation() {
  const cart = await openCart();
  await Promise.all(anyItems().map((item) => addLine(cart, item)));
  const filled = await carts.findOne({ _id: cart });
  await Promise.all(filled.lines.map(({ sku }) => reserve(cart, sku)));
  await order(filled);
  await complete(cart);
  await commit(cart);
}

// ---- Accounts ----

/** Two phases, as MongoDB's manual once described them. */
async function accountTransfer() {
  const [source, destination] = different(2, ACCOUNTS).map(accountId);
  const from = await accounts.findOne({ _id: source });
  const to = await accounts.findOne({ _id: destination });
  if (!to || from.balance < AMOUNT) return;

  const _id = new ObjectId();
  await transactions.insertOne({
    _id,
    source,
    destination,
    amount: AMOUNT,
    state: "INITIAL",
    at: new Date(),
  });
  const advance = async (state, next) => {
    const change = { $set: { state: next }, $currentDate: { at: true } };
    guarded(await transactions.updateOne({ _id, state }, change));
  };
  const move = async (account, amount, guard) => {
    const change = { $inc: { balance: Long.fromNumber(amount) }, $push: { pending: _id } };
    guarded(await accounts.updateOne({ _id: account, pending: { $ne: _id }, ...guard }, change));
  };
  const settle = async (account) => {
    guarded(await accounts.updateOne({ _id: account, pending: _id }, { $pull: { pending: _id } }));
  };

  await advance("INITIAL", "PENDING");
  await move(source, -AMOUNT, { balance: { $gte: AMOUNT } });
  await move(destination, AMOUNT);
  await advance("PENDING", "APPLIED");
  await settle(source);
  await settle(destination);
  await advance("APPLIED", "DONE");
}

// ---- Running ----

const scenarios = {
  "category-children": categoryChildren,
  "category-subtree": categorySubtree,
  "products-of-category": productsOfCategory,
  "products-of-children": productsOfChildren,
  "products-of-subtree": productsOfSubtree,
  "cart-with-reservation": cartWithReservation,
  "cart-without-reservation": cartWithoutReservation,
  "account-transfer": accountTransfer,
  ...copied.scenarios,
  ...queued.scenarios,
};

/** A closed loop: each of `inFlight` workers begins its next op when its last one is done. */
async function loop(op, seconds, inFlight) {
  const end = performance.now() + seconds * 1_000;
  let ops = 0;
  const work = async () => {
    while (performance.now() < end) {
      await op();
      ops += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  return ops;
}

async function run(name, { warmUp, seconds, inFlight }) {
  await readPaths();
  const op = scenarios[name];
  // The engine compiles what is hot, and the connections are opened.
  const before = await loop(op, warmUp, inFlight);
  const cpu = process.cpuUsage();
  const begin = performance.now();
  const ops = await loop(op, seconds, inFlight);
  const took = (performance.now() - begin) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  const rounded = (number) => Math.round(number * 1_000) / 1_000;
  return {
    scenario: name,
    ops,
    /** With those of the warm-up. */
    allOps: before + ops,
    seconds: rounded(took),
    opsPerSecond: rounded(ops / took),
    cpuSeconds: rounded((user + system) / 1e6),
  };
}

if (action !== "setup" && action !== "finish" && !(action === "run" && Object.hasOwn(scenarios, name))) {
  console.error("usage: node direct.js setup [--runs 6]");
  console.error("       node direct.js finish COLLECTION [--count 1000000]");
  console.error("       node direct.js run SCENARIO [--seconds 10] [--in-flight 50] [--warm-up 3]");
  console.error("                              [--write-concern majority|1] [--number 0]");
  console.error(`scenarios: ${Object.keys(scenarios).join(", ")}`);
  process.exit(2);
}

await client.connect();
try {
  if (action === "setup") await setup();
  else if (action === "finish") await finish(client.db(DATABASE).collection(name), Number(values.count));
  else {
    const [warmUp, seconds, inFlight] = ["warm-up", "seconds", "in-flight"].map((key) =>
      Number(values[key]),
    );
    console.log(JSON.stringify(await run(name, { warmUp, seconds, inFlight })));
  }
} finally {
  await client.close();
}
