// What the browser of a guest remembers: the cart, and the orders that were placed here.

const CART = "shop-cart";
const ORDERS = "shop-orders";

function read(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    // Storage is switched off: the cart lasts as long as the page.
    return null;
  }
}

function write(name: string, value: string | null) {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // As above.
  }
}

export const savedCart = () => read(CART);
export const saveCart = (id: string | null) => write(CART, id);

/** Ids of the orders, newest first. They are secrets: who knows one sees the order. */
export function savedOrders(): string[] {
  const ids: unknown = JSON.parse(read(ORDERS) ?? "[]");
  return Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [];
}

/** Remembers an order; the last 50 are kept. */
export const saveOrder = (id: string) =>
  write(ORDERS, JSON.stringify([id, ...savedOrders().filter((other) => other !== id)].slice(0, 50)));
