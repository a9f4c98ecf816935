// Addresses of the app, and what docgate is asked at each. No React here: `first.ts` uses it before React has come.

/** The folder that the app is served from. */
export const BASE = "/shop";

/** The present address within the app. */
export const here = () => location.pathname.slice(BASE.length).replace(/\/$/, "") + location.search;

/** Path and parameters of an address; the path begins with a slash. */
export function partsOf(address: string): { path: string; parameters: URLSearchParams } {
  const [path = "", search] = address.split("?");
  return { path: decoded(path) || "/", parameters: new URLSearchParams(search) };
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    // Nothing is at an address that can't be decoded.
    return path;
  }
}

/** The kind of page at a path, and what is shown on it. */
export function placeOf(path: string): { kind: string; key: string } {
  const [, kind = "", ...rest] = path.split("/");
  return { kind, key: rest.join("/") };
}

/** The product of a place of the kind `sku` or `product`. */
export const productAt = ({ kind, key }: { kind: string; key: string }) =>
  kind === "sku" ? { sku: key } : { slug: key };

export const ORDERS = {
  NEWEST: "Newest first",
  TITLE: "By title",
  // Only products with reviews are in this order.
  RATING: "Reviewed, best first",
  DISCOUNT: "Best bargains first",
  PRICE_UP: "Cheapest first",
  PRICE_DOWN: "Most expensive first",
} as const;

export type Order = keyof typeof ORDERS;
export const isOrder = (text: string | null): text is Order => text !== null && text in ORDERS;

/** Variables of `Frame`. */
export const frameVariables = (cartId: string | null) => ({ cartId: cartId ?? "none", hasCart: cartId !== null });

/** The works of a person. */
export const worksPath = (personId: string) => `/search?by=${encodeURIComponent(personId)}`;

/** Address of the results for a text. */
export const searchPath = (text: string) => `/search?q=${encodeURIComponent(text)}`;

/** Variables of `List` for its first page: of a category, of a person, or of all products. */
export const listVariables = (category: string | null, parameters: URLSearchParams) => ({
  path: category ?? "/",
  hasCategory: category !== null,
  by: parameters.get("by") ?? "none",
  hasPerson: parameters.has("by"),
  where: conditions(category, parameters),
  after: null,
});

/** Whether there is a choice of orders: words have one of their own, and the works of a person come newest first. */
export const hasOrders = (category: string | null, parameters: URLSearchParams) =>
  !parameters.has("q") && (category !== null || !parameters.has("by"));

/** What the parameters of an address say of its list. */
function conditions(category: string | null, parameters: URLSearchParams) {
  const sort = parameters.get("sort");
  const [min, max] = (parameters.get("price") ?? "").split("-");
  const isByPrice = sort === "PRICE_UP" || sort === "PRICE_DOWN";
  const property = parameters.get("property");
  const [key = "", value = ""] = property?.split("=") ?? [];
  const text = parameters.get("q");
  const personId = parameters.get("by");
  return {
    category: category ? { subtree: category } : null,
    contributor: personId ? { by: { personId } } : null,
    type: parameters.get("type"),
    // The orders by price need the currency.
    price: min || isByPrice ? { currency: "EUR", min: Number(min ?? 0), max: max ? Number(max) : null } : null,
    properties: property ? [{ key, value }] : null,
    text: text ? { query: text } : null,
    order: text ? null : isOrder(sort) && hasOrders(category, parameters) ? sort : "NEWEST",
  } as const;
}
