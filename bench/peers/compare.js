// Asks several servers the same and says where their answers differ from the first one's:
// node compare.js http://127.0.0.1:8080/graphql http://127.0.0.1:4000/graphql [...]
import { isDeepStrictEqual } from "node:util";
import { drawing, requests, withDatabase } from "./bodies.js";

const EACH = 40;
const WRITES = ["openCart", "addCartLine"];
const urls = process.argv.slice(2);

async function post(url, body) {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return answer.json();
}

/** What must be the same: data in its order, and each error's message and extensions. */
const told = ({ data = null, errors = [] }) =>
  JSON.stringify({
    data,
    errors: errors.map(({ message, path, extensions }) => ({ message, path, extensions })),
  });

let asked = 0;
let differing = 0;

async function compare(name, bodies) {
  const answers = await Promise.all(urls.map((url, at) => post(url, bodies[at])));
  asked += 1;
  answers.slice(1).forEach((answer, at) => {
    if (isDeepStrictEqual(told(answer), told(answers[0]))) return;
    differing += 1;
    console.log(
      `${name} ${JSON.stringify(bodies[0].variables)}\n  ${urls[0]}\n    ${told(answers[0])}`,
    );
    console.log(`  ${urls[at + 1]}\n    ${told(answer)}`);
  });
  return answers[0];
}

const same = (body) => urls.map(() => body);

/** Asks for a list's further pages too. */
async function pages(name, body) {
  for (let page = 0; page < 4; page += 1) {
    const { data } = await compare(name, same(body));
    const { hasNextPage, endCursor } = Object.values(data ?? {})[0]?.pageInfo ?? {};
    if (!hasNextPage) return;
    body = { ...body, variables: { ...body.variables, after: endCursor } };
  }
}

const faults = [
  ["product", { sku: "no such" }],
  ["product", { sku: "NO-SUCH" }],
  ["category", { path: "/no/such" }],
  ["category", { path: "music" }],
  ["menu", { parentPath: "/music", first: 0 }],
  ["menu", { parentPath: "/music", after: "abc" }],
  ["discounted", { least: 0 }],
  ["productsOfCategory", { path: "/music/" }],
];

await withDatabase(async (database) => {
  const draw = await drawing(database);
  for (const name of Object.keys(requests).filter((name) => !WRITES.includes(name))) {
    for (let at = 0; at < EACH; at += 1) await pages(name, draw(name));
  }
  for (const [name, variables] of faults) {
    await compare(`fault: ${name}`, same({ query: requests[name].query, variables }));
  }

  // Each server adds to a cart of its own.
  const open = async (url) => (await post(url, draw("openCart", {}))).data.openCart.id;
  const carts = await Promise.all(urls.map(open));
  const add = (variables) =>
    compare(
      "addCartLine",
      carts.map((cart) => ({
        query: requests.addCartLine.query,
        variables: { cart, ...variables },
      })),
    );
  for (let at = 0; at < EACH; at += 1) await add({ sku: draw("product").variables.sku });
  await add({ sku: "NO-SUCH" });
  await add({ sku: "no such" });
  await add({ sku: draw("product").variables.sku, cart: "abc" });
});

console.log(`${asked} requests, ${differing} differing answers`);
process.exitCode = differing ? 1 : 0;
