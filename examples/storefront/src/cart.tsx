// The guest's cart. Each change is one mutation, whose result is the cart afterwards or why it was refused.

import { type ReactNode, createContext, useContext, useEffect, useMemo, useRef, useState } from "react";
import { frameVariables } from "./address";
import { idempotencyKey, request } from "./graphql";
import * as ops from "./operations";
import { saveAddress, saveCart, saveOrder, savedCart } from "./storage";

interface Refusal {
  __typename: string;
  code: string;
  message: string;
  what?: string;
  field?: string;
  available?: number;
  shortLines?: { sku: string; available: number }[];
}

/** What became of a cart that isn't there any more: an order, or nothing if it has expired. */
export interface Ended {
  orderId: string | null;
}

type Outcome = ops.CartData & { __typename: "Cart" } | Refusal | null;

/** What a change comes to: null, or what the shopper is told. */
type Told = Promise<string | null>;

interface CartStore {
  cart: ops.CartData | null;
  /** Whether the cart is known: until it is loaded, null isn't an empty one. `ordering`: its checkout is under way. */
  status: "loading" | "failed" | "ordering" | "ready";
  /** What became of the former cart, until there is another one. */
  ended: Ended | null;
  /** Loads the cart again. */
  load(): Promise<void>;
  menu: { path: string; name: string }[];
  /** Number of pieces in the cart. */
  count: number;
  add(sku: string): Told;
  setQuantity(sku: string, quantity: number): Told;
  applyVoucher(code: string): Told;
  removeVoucher(): Told;
  acceptPrices(): Told;
  setShippingMethod(method: string, country: string): Told;
  removeShippingMethod(): Told;
  /** Places the order; its id, or what the shopper is told. */
  checkOut(address: Address): Promise<{ orderId: string } | { told: string }>;
}

export interface Address {
  name: string;
  street: string;
  city: string;
  country: string;
  /** Undefined if the shopper gives none. */
  email?: string;
}

const Context = createContext<CartStore | null>(null);

export function useCart(): CartStore {
  const store = useContext(Context);
  if (!store) throw new Error("useCart is used outside of CartProvider");
  return store;
}

/** By this the tabs of a browser tell each other of the cart. */
const tabs = new BroadcastChannel("shop-cart");

/** What a tab tells the others: the id of the cart, or what became of it. */
interface News {
  id: string | null;
  ended: Ended | null;
}

/** Pause before it is looked whether a checkout has ended, in milliseconds. */
const PAUSE = 2000;

export function CartProvider({ children }: { children: ReactNode }) {
  const [cart, setCart] = useState<ops.CartData | null>(null);
  const [status, setStatus] = useState<CartStore["status"]>(savedCart() ? "loading" : "ready");
  const [ended, setEnded] = useState<Ended | null>(null);
  const [menu, setMenu] = useState<CartStore["menu"]>([]);
  // Changes wait for each other, so that the cart shown is the newest one.
  const queue = useRef<Promise<unknown>>(Promise.resolve());
  const cartId = useRef<string | null>(savedCart());
  const lines = useRef<ops.CartData["lines"]>([]);
  // A checkout that wasn't answered may have placed the order: its repeat has the same key, and finds it.
  const unanswered = useRef<{ of: string; key: string } | null>(null);

  const store = useMemo(() => {
    const show = (next: ops.CartData | null, ended: Ended | null = null) => {
      cartId.current = next?.id ?? null;
      lines.current = next?.lines ?? [];
      setCart(next);
      setEnded(ended);
      setStatus("ready");
    };
    /** Shows a change, here and in the other tabs. */
    const change = (next: ops.CartData | null, ended: Ended | null = null) => {
      show(next, ended);
      saveCart(cartId.current);
      tabs.postMessage({ id: cartId.current, ended } satisfies News);
    };
    /** Shows the cart as docgate has it, or what became of it. */
    const load = async (): Promise<Ended | null> => {
      const id = cartId.current;
      const frame = await request(ops.Frame, frameVariables(id));
      setMenu(frame.categories.nodes);
      if (!id) return null;
      const found = frame.cart;
      if (found?.state === "ACTIVE") {
        show(found);
        return null;
      }
      if (found && !found.orderId && ["PENDING", "VOIDING", "PAID"].includes(found.state)) {
        // Its checkout is under way, and ends with an order or with the cart as it was.
        setStatus("ordering");
        setTimeout(store.load, PAUSE);
        return null;
      }
      const ended = { orderId: found?.orderId ?? null };
      if (ended.orderId) saveOrder(ended.orderId);
      change(null, ended);
      return ended;
    };
    const accept = async (outcome: Outcome): Promise<string | null> => {
      if (outcome && "lines" in outcome) {
        change(outcome);
        return null;
      }
      // What became of it is told in its place.
      if (isGone(outcome) && (await load())) return null;
      return outcome ? told(outcome) : "The shop can't do that now. Please try again.";
    };
    const inTurn = <T,>(change: () => Promise<T>): Promise<T> => {
      const result = queue.current.then(change);
      queue.current = result.catch(() => undefined);
      return result;
    };
    /** One change of the cart that is there. */
    const send = (one: (cartId: string, key: string) => Promise<Outcome>): Told =>
      inTurn(async () => {
        try {
          return cartId.current ? await accept(await one(cartId.current, idempotencyKey())) : null;
        } catch (fault) {
          return (fault as Error).message;
        }
      });
    const open = async () => {
      cartId.current ??= savedCart();
      if (cartId.current) return null;
      const { openCart } = await request(ops.OpenCart, {});
      return accept(openCart);
    };
    const store = {
      load: () => {
        setStatus((status) => (status === "failed" ? "loading" : status));
        return inTurn(async () => {
          try {
            await load();
          } catch {
            // Without the menu the shop still works. Nobody else looks again whether a checkout has ended.
            setStatus((status) => (status === "ready" ? status : "failed"));
          }
        });
      },
      /** Follows what the other tabs do with the cart. Returns how to end it. */
      follow: () => {
        const heard = ({ data: { id, ended } }: MessageEvent<News>) =>
          inTurn(async () => {
            if (id === null) return show(null, ended);
            cartId.current = id;
            await load();
          }).catch(() => undefined);
        tabs.addEventListener("message", heard);
        return () => tabs.removeEventListener("message", heard);
      },
      add: (sku: string): Told =>
        inTurn(async () => {
          try {
            const refused = await open();
            if (refused) return refused;
            const put = () =>
              request(ops.AddLine, { cartId: cartId.current ?? "", sku, key: idempotencyKey() });
            const { addCartLine: outcome } = await put();
            if (!isGone(outcome)) return await accept(outcome);
            // The cart has expired meanwhile: the product goes into a new one.
            if (!(await load())) return ORDERING;
            const again = await open();
            if (again) return again;
            return await accept((await put()).addCartLine);
          } catch (fault) {
            return (fault as Error).message;
          }
        }),
      setQuantity: (sku: string, quantity: number): Told =>
        send(async (cartId, key) =>
          quantity > 0
            ? (await request(ops.SetQuantity, { cartId, sku, quantity, key })).setCartLineQuantity
            : (await request(ops.RemoveLine, { cartId, sku, key })).removeCartLine,
        ),
      applyVoucher: (code: string): Told =>
        send(async (cartId, key) => (await request(ops.ApplyVoucher, { cartId, code, key })).applyVoucher),
      removeVoucher: (): Told =>
        send(async (cartId, key) => (await request(ops.RemoveVoucher, { cartId, key })).removeVoucher),
      acceptPrices: (): Told =>
        send(async (cartId, key) => (await request(ops.AcceptPrices, { cartId, key })).acceptPrices),
      setShippingMethod: (method: string, country: string): Told =>
        send(async (cartId, key) =>
          (await request(ops.SetShippingMethod, { cartId, method, country, key })).setShippingMethod,
        ),
      removeShippingMethod: (): Told =>
        send(async (cartId, key) => (await request(ops.RemoveShippingMethod, { cartId, key })).removeShippingMethod),
      checkOut: (shipping: Address) =>
        inTurn(async () => {
          try {
            const of = JSON.stringify([cartId.current, shipping]);
            const key = unanswered.current?.of === of ? unanswered.current.key : idempotencyKey();
            unanswered.current = { of, key };
            const variables = { cartId: cartId.current ?? "", shipping, key };
            const { checkoutCart: outcome } = await request(ops.Checkout, variables);
            unanswered.current = null;
            if (outcome?.__typename !== "Order") {
              if (!outcome) return { told: "The order couldn't be placed. Please try again." };
              // The cart isn't as it is shown.
              const isOther = isGone(outcome) || ["PricesChanged", "CheckoutShort", "QuoteNeeded"].includes(outcome.__typename);
              const orderId = isOther && (await load())?.orderId;
              return orderId ? { orderId } : { told: told(outcome, lines.current) };
            }
            saveOrder(outcome.id);
            saveAddress(null);
            change(null, { orderId: outcome.id });
            setEnded(null);
            return { orderId: outcome.id };
          } catch (fault) {
            return { told: (fault as Error).message };
          }
        }),
    };
    return store;
  }, []);

  useEffect(() => {
    const stop = store.follow();
    store.load();
    return stop;
  }, [store]);

  const count = cart?.lines.reduce((sum, line) => sum + line.quantity, 0) ?? 0;
  return <Context.Provider value={{ ...store, cart, status, ended, menu, count }}>{children}</Context.Provider>;
}

/** A title with the values of the variant's options, if it is of a variant. */
export const titleOf = ({ title, variantTitle }: { title: string; variantTitle: string | null }) =>
  variantTitle ? `${title}, ${variantTitle}` : title;

/** Whether the cart has expired, or was checked out in another tab. */
function isGone(outcome: Outcome): boolean {
  if (!outcome || "lines" in outcome) return false;
  return outcome.__typename === "CartNotActive" || (outcome.__typename === "NotFound" && outcome.what === "cart");
}

const NO_CARDS = "This demo takes no cards: the voucher GIFT pays for the goods, and standard delivery is free.";

const ORDERING = "Your order is being placed. Please try again in a moment.";

/** A refusal in the words of the shop. */
function told(refusal: Refusal, lines: ops.CartData["lines"] = []): string {
  switch (refusal.__typename) {
    case "InsufficientStock":
      return refusal.available ? `Only ${refusal.available} more in stock.` : "This is sold out.";
    case "CheckoutShort":
      return `${(refusal.shortLines ?? []).map((short) => shortage(short, lines)).join(" ")} Please change your cart.`;
    case "PricesChanged":
      return "A price has changed. Please look at your cart.";
    case "CartNotActive":
      return ORDERING;
    case "PaymentDeclined":
      return NO_CARDS;
    case "InvalidInput":
      // A guest has no account that could pay.
      return refusal.field?.startsWith("input.payment") ? NO_CARDS : sentence(refusal.message);
    case "QuoteNeeded":
      return "Your cart or its destination has changed. Please choose the delivery again.";
    default:
      return sentence(refusal.message);
  }
}

function shortage({ sku, available }: { sku: string; available: number }, lines: ops.CartData["lines"]): string {
  const line = lines.find((line) => line.sku === sku);
  const title = line ? titleOf(line) : sku;
  return available > 0 ? `Only ${available} of “${title}” ${available === 1 ? "is" : "are"} left.` : `“${title}” is sold out.`;
}

function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}
