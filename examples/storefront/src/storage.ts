// What the browser of a guest remembers: the cart, the orders that were placed here, and the address until then.

import type { Address } from "./cart";

const CART = "shop-cart";
const ORDERS = "shop-orders";
const ADDRESS = "shop-address";

/** An address isn't for the next one at this browser: its tab alone remembers it. */
const storageOf = (name: string) => (name === ADDRESS ? sessionStorage : localStorage);

function read(name: string): string | null {
  try {
    return storageOf(name).getItem(name);
  } catch {
    // Storage is switched off: the cart lasts as long as the page.
    return null;
  }
}

function write(name: string, value: string | null) {
  try {
    if (value === null) storageOf(name).removeItem(name);
    else storageOf(name).setItem(name, value);
  } catch {
    // As above.
  }
}

export const savedCart = () => read(CART);
export const saveCart = (id: string | null) => write(CART, id);

/** The address that was entered at the checkout, also after a way back to the cart. */
export const savedAddress = () => JSON.parse(read(ADDRESS) ?? "null") as Address | null;
export const saveAddress = (address: Address | null) => write(ADDRESS, address && JSON.stringify(address));

/** Ids of the orders, newest first. They are secrets: who knows one sees the order. */
export function savedOrders(): string[] {
  const ids: unknown = JSON.parse(read(ORDERS) ?? "[]");
  return Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [];
}

/** Remembers an order; the last 50 are kept. */
export const saveOrder = (id: string) =>
  write(ORDERS, JSON.stringify([id, ...savedOrders().filter((other) => other !== id)].slice(0, 50)));
