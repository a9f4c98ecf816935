// The guest's cart. Each change is one mutation, whose result is the cart afterwards or why it was refused.

import { type ReactNode, createContext, useContext, useEffect, useMemo, useRef, useState } from "react";
import { frameVariables } from "./address";
import { idempotencyKey, request } from "./graphql";
import * as ops from "./operations";
import { saveCart, saveOrder, savedCart } from "./storage";

interface Refusal {
  __typename: string;
  code: string;
  message: string;
  what?: string;
  field?: string;
  available?: number;
  shortLines?: { sku: string; available: number }[];
}

type Outcome = ops.CartData & { __typename: "Cart" } | Refusal | null;

/** What a change comes to: null, or what the shopper is told. */
type Told = Promise<string | null>;

interface CartStore {
  cart: ops.CartData | null;
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

export function CartProvider({ children }: { children: ReactNode }) {
  const [cart, setCart] = useState<ops.CartData | null>(null);
  const [menu, setMenu] = useState<CartStore["menu"]>([]);
  // Changes wait for each other, so that the cart shown is the newest one.
  const queue = useRef<Promise<unknown>>(Promise.resolve());
  const cartId = useRef<string | null>(savedCart());
  // A checkout that wasn't answered may have placed the order: its repeat has the same key, and finds it.
  const unanswered = useRef<{ of: string; key: string } | null>(null);

  const store = useMemo(() => {
    const show = (next: ops.CartData | null) => {
      cartId.current = next?.id ?? null;
      saveCart(cartId.current);
      setCart(next);
    };
    const accept = (outcome: Outcome): string | null => {
      if (outcome && "lines" in outcome) {
        show(outcome);
        return null;
      }
      if (isGone(outcome)) show(null);
      return outcome ? told(outcome) : "The shop can't do that now. Please try again.";
    };
    const inTurn = <T,>(change: () => Promise<T>): Promise<T> => {
      const result = queue.current.then(change);
      queue.current = result.catch(() => undefined);
      return result;
    };
    /** One change of the cart that is there. */
    const change = (send: (cartId: string, key: string) => Promise<Outcome>): Told =>
      inTurn(async () => {
        try {
          return cartId.current ? accept(await send(cartId.current, idempotencyKey())) : null;
        } catch (fault) {
          return (fault as Error).message;
        }
      });
    const open = async () => {
      if (cartId.current) return null;
      const { openCart } = await request(ops.OpenCart, {});
      return accept(openCart);
    };
    return {
      load: () =>
        inTurn(async () => {
          const id = cartId.current;
          const frame = await request(ops.Frame, frameVariables(id));
          setMenu(frame.categories.nodes);
          if (!id) return;
          const found = frame.cart;
          if (found?.state === "ACTIVE") return show(found);
          // Its checkout is under way, and ends with an order or with the cart as it was.
          if (found && !found.orderId && ["PENDING", "VOIDING", "PAID"].includes(found.state)) return;
          // The page was closed before the answer to the checkout came.
          if (found?.orderId) saveOrder(found.orderId);
          show(null);
        }),
      add: (sku: string): Told =>
        inTurn(async () => {
          try {
            const refused = await open();
            if (refused) return refused;
            const send = () =>
              request(ops.AddLine, { cartId: cartId.current ?? "", sku, key: idempotencyKey() });
            const { addCartLine: outcome } = await send();
            if (!isGone(outcome)) return accept(outcome);
            // The cart has expired meanwhile: the product goes into a new one.
            show(null);
            const again = await open();
            if (again) return again;
            return accept((await send()).addCartLine);
          } catch (fault) {
            return (fault as Error).message;
          }
        }),
      setQuantity: (sku: string, quantity: number): Told =>
        change(async (cartId, key) =>
          quantity > 0
            ? (await request(ops.SetQuantity, { cartId, sku, quantity, key })).setCartLineQuantity
            : (await request(ops.RemoveLine, { cartId, sku, key })).removeCartLine,
        ),
      applyVoucher: (code: string): Told =>
        change(async (cartId, key) => (await request(ops.ApplyVoucher, { cartId, code, key })).applyVoucher),
      removeVoucher: (): Told =>
        change(async (cartId, key) => (await request(ops.RemoveVoucher, { cartId, key })).removeVoucher),
      acceptPrices: (): Told =>
        change(async (cartId, key) => (await request(ops.AcceptPrices, { cartId, key })).acceptPrices),
      setShippingMethod: (method: string, country: string): Told =>
        change(async (cartId, key) =>
          (await request(ops.SetShippingMethod, { cartId, method, country, key })).setShippingMethod,
        ),
      removeShippingMethod: (): Told =>
        change(async (cartId, key) => (await request(ops.RemoveShippingMethod, { cartId, key })).removeShippingMethod),
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
              return { told: outcome ? told(outcome) : "The order couldn't be placed. Please try again." };
            }
            saveOrder(outcome.id);
            show(null);
            return { orderId: outcome.id };
          } catch (fault) {
            return { told: (fault as Error).message };
          }
        }),
    };
  }, []);

  useEffect(() => {
    // Without the menu the shop still works.
    store.load().catch(() => undefined);
  }, [store]);

  const count = cart?.lines.reduce((sum, line) => sum + line.quantity, 0) ?? 0;
  return <Context.Provider value={{ ...store, cart, menu, count }}>{children}</Context.Provider>;
}

/** Whether the cart has expired, or was checked out in another tab. */
function isGone(outcome: Outcome): boolean {
  if (!outcome || "lines" in outcome) return false;
  return outcome.__typename === "CartNotActive" || (outcome.__typename === "NotFound" && outcome.what === "cart");
}

const NO_CARDS = "This demo takes no cards: the voucher GIFT pays for the goods, and standard delivery is free.";

/** A refusal in the words of the shop. */
function told(refusal: Refusal): string {
  switch (refusal.__typename) {
    case "InsufficientStock":
      return refusal.available ? `Only ${refusal.available} more in stock.` : "This is sold out.";
    case "CheckoutShort":
      return "Something in your cart was sold meanwhile. Please lower its quantity.";
    case "CartNotActive":
      return "This cart is closed. Please begin a new one.";
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

function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}
