// What happens in the demo's shop, done by plain requests, so that a client under test has something to see.

import { field, world } from "./world.mjs";

const { shopper, merchant, admin } = world.tokens;

let next = 0;
/** An idempotency key that nobody has used. */
export const opId = () => `clients-${process.pid}-${Date.now()}-${next++}`;

export const ADDRESS = { name: "Anna Berg", street: "Ringstr. 5", city: "50667 Köln", country: "DE" };

/** More of a product comes in; how many are free then. */
export async function receive(sku, quantity = 5) {
  const mutation = `mutation($sku: ID!, $quantity: Long!, $opId: ID!) {
    receiveStock(input: {sku: $sku, quantity: $quantity, opId: $opId}) { ... on Stock { available } ... on UserError { code message } }
  }`;
  return (await field(mutation, { sku, quantity, opId: opId() }, merchant)).available;
}

/** A new account of the shopper with this much money in it. */
export async function account(minorUnits = 1_000_000) {
  const mutation = `mutation($opId: ID!) {
    openAccount(input: {currency: "EUR", opId: $opId}) { ... on Account { id } ... on UserError { code message } }
  }`;
  const { id } = await field(mutation, { opId: opId() }, shopper);
  await deposit(id, minorUnits);
  return id;
}

/** Money from outside comes into an account. */
export function deposit(accountId, amount) {
  const mutation = `mutation($accountId: ID!, $amount: Long!, $opId: ID!) {
    deposit(input: {accountId: $accountId, amount: $amount, opId: $opId}) { ... on Transfer { id } ... on UserError { code message } }
  }`;
  return field(mutation, { accountId, amount, opId: opId() }, admin);
}

/** An order of the shopper for one of a product. */
export async function order(sku) {
  await receive(sku);
  const payer = await account();
  const open = `mutation($opId: ID!) {
    openCart(input: {policy: RESERVE, currency: "EUR", opId: $opId}) { ... on Cart { id } ... on UserError { code message } }
  }`;
  const cart = await field(open, { opId: opId() }, shopper);
  const add = `mutation($cartId: ID!, $sku: ID!, $opId: ID!) {
    addCartLine(input: {cartId: $cartId, sku: $sku, quantity: 1, opId: $opId}) { ... on Cart { id } ... on UserError { code message } }
  }`;
  await field(add, { cartId: cart.id, sku, opId: opId() }, shopper);
  const checkout = `mutation($cartId: ID!, $account: ID!, $shipping: ShippingAddressInput!, $opId: ID!) {
    checkoutCart(input: {cartId: $cartId, payment: {account: $account}, shipping: $shipping, opId: $opId}) {
      ... on Order { id } ... on UserError { code message }
    }
  }`;
  const input = { cartId: cart.id, account: payer, shipping: ADDRESS, opId: opId() };
  return (await field(checkout, input, shopper)).id;
}

/** An order is given up. */
export function cancel(orderId) {
  const mutation = `mutation($orderId: ID!, $opId: ID!) {
    cancelOrder(input: {orderId: $orderId, opId: $opId}) { ... on Order { id } ... on UserError { code message } }
  }`;
  return field(mutation, { orderId, opId: opId() }, shopper);
}
