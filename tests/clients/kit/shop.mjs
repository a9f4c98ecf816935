// What happens in the demo's shop, done by plain requests, so that a client under test has something to see.

import { field, world } from "./world.mjs";

const { shopper, merchant, admin } = world.tokens;

let next = 0;
/** An idempotency key that nobody has used. */
export const idempotencyKey = () => `clients-${process.pid}-${Date.now()}-${next++}`;

export const ADDRESS = { name: "Anna Berg", street: "Ringstr. 5", city: "50667 Köln", country: "DE" };

/** SKU of a new product, which nobody else buys: its stock changes only by what the suite does. */
export async function newProduct(title) {
  const sku = `${title}-${process.pid}`;
  const mutation = `mutation($sku: ID!, $title: String!) {
    createProduct(input: {
      sku: $sku, content: {title: $title, details: {album: {}}}, pricing: {list: 1500, retail: 1200, currency: "EUR"}
    }) { ... on Product { sku } ... on UserError { code message } }
  }`;
  await field(mutation, { sku, title }, merchant);
  await receive(sku);
  return sku;
}

/** More of a product comes in; how many are free then. */
export async function receive(sku, quantity = 5) {
  const mutation = `mutation($sku: ID!, $quantity: Int!, $idempotencyKey: ID!) {
    receiveStock(input: {sku: $sku, quantity: $quantity, idempotencyKey: $idempotencyKey}) { ... on Stock { available } ... on UserError { code message } }
  }`;
  return (await field(mutation, { sku, quantity, idempotencyKey: idempotencyKey() }, merchant)).available;
}

/** A product costs this much from now on. */
export function reprice(sku, retail) {
  const mutation = `mutation($sku: ID!, $retail: Long!) {
    setProductPrice(input: {sku: $sku, retail: $retail}) { ... on Product { sku } ... on UserError { code message } }
  }`;
  return field(mutation, { sku, retail }, merchant);
}

/** A new account of the shopper with this much money in it. */
export async function account(minorUnits = 1_000_000) {
  const mutation = `mutation($idempotencyKey: ID!) {
    openAccount(input: {currency: "EUR", idempotencyKey: $idempotencyKey}) { ... on Account { id } ... on UserError { code message } }
  }`;
  const { id } = await field(mutation, { idempotencyKey: idempotencyKey() }, shopper);
  await deposit(id, minorUnits);
  return id;
}

/** Money from outside comes into an account. */
export function deposit(accountId, amount) {
  const mutation = `mutation($accountId: ID!, $amount: Long!, $idempotencyKey: ID!) {
    deposit(input: {accountId: $accountId, amount: $amount, idempotencyKey: $idempotencyKey}) { ... on Transfer { id } ... on UserError { code message } }
  }`;
  return field(mutation, { accountId, amount, idempotencyKey: idempotencyKey() }, admin);
}

/** An order of the shopper for one of a product. */
export async function order(sku) {
  await receive(sku);
  const payer = await account();
  const open = `mutation($idempotencyKey: ID!) {
    openCart(input: {policy: RESERVE, currency: "EUR", idempotencyKey: $idempotencyKey}) { ... on Cart { id } ... on UserError { code message } }
  }`;
  const cart = await field(open, { idempotencyKey: idempotencyKey() }, shopper);
  const add = `mutation($cartId: ID!, $sku: ID!, $idempotencyKey: ID!) {
    addCartLine(input: {cartId: $cartId, sku: $sku, quantity: 1, idempotencyKey: $idempotencyKey}) { ... on Cart { id } ... on UserError { code message } }
  }`;
  await field(add, { cartId: cart.id, sku, idempotencyKey: idempotencyKey() }, shopper);
  const checkout = `mutation($cartId: ID!, $accountId: ID!, $shipping: ShippingAddressInput!, $idempotencyKey: ID!) {
    checkoutCart(input: {cartId: $cartId, payment: {accountId: $accountId}, shipping: $shipping, idempotencyKey: $idempotencyKey}) {
      ... on Order { id } ... on UserError { code message }
    }
  }`;
  const input = { cartId: cart.id, accountId: payer, shipping: ADDRESS, idempotencyKey: idempotencyKey() };
  return (await field(checkout, input, shopper)).id;
}

/** An order is given up. */
export function cancel(orderId) {
  const mutation = `mutation($orderId: ID!, $idempotencyKey: ID!) {
    cancelOrder(input: {orderId: $orderId, idempotencyKey: $idempotencyKey}) { ... on Order { id } ... on UserError { code message } }
  }`;
  return field(mutation, { orderId, idempotencyKey: idempotencyKey() }, shopper);
}
