// The cart, and the checkout with the address.

import { type FormEvent, useEffect, useRef, useState } from "react";
import { type Address, titleOf, useCart } from "../cart";
import { useQuery } from "../data";
import { type CartData, ShippingMethods } from "../operations";
import { Link, go } from "../router";
import { saveAddress, savedAddress } from "../storage";
import { Heading, Picture, State, Totals, deliveryPrice, focusHeading, productPath } from "../ui";

/** Changes in turn, and what came of the last one. */
function useChange() {
  const [told, setTold] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async (change: () => Promise<string | null>) => {
    setBusy(true);
    setTold(await change());
    setBusy(false);
  };
  return { told, isBusy, run };
}

export function CartPage() {
  const { cart, setQuantity } = useCart();
  const { told, isBusy, run } = useChange();
  const remove = async (sku: string) => {
    if (isBusy) return;
    await run(() => setQuantity(sku, 0));
    focusHeading();
  };
  const heading = <Heading text="Your cart" />;
  if (!cart || cart.lines.length === 0) return <>{heading}<NoCart /></>;
  return (
    <>
      {heading}
      {told && <p className="notice bad" role="alert">{told}</p>}
      <NewPrices of={cart} />
      <div className="columns cart">
        <ul className="lines">
          {cart.lines.map((line) => (
            <li key={line.sku}>
              <Picture of={line.variant?.image ?? line.product?.images[0]} sizes="80px" />
              <div>
                <Link to={productPath({ sku: line.sku, slug: line.variantTitle ? null : line.product?.slug ?? null })}>{titleOf(line)}</Link>
                <p className="by">
                  {line.unitPrice.formatted}
                  {line.priceChanged && line.priceNow && ` (now ${line.priceNow.formatted})`}
                </p>
                <Quantity of={line} change={(quantity) => run(() => setQuantity(line.sku, quantity))} />{" "}
                <button
                  type="button"
                  className="plain"
                  aria-disabled={isBusy}
                  onClick={() => remove(line.sku)}
                  aria-label={`Remove ${titleOf(line)}`}
                >
                  Remove
                </button>
              </div>
              <strong>{line.total.formatted}</strong>
            </li>
          ))}
        </ul>
        <aside aria-label="Sum">
          <Sums of={cart} />
          <VoucherForm of={cart} />
          <Link to="/checkout" className="main">Check out</Link>
        </aside>
      </div>
    </>
  );
}

/** The quantity of a line. It shows what was chosen while the change is on its way. */
function Quantity({ of: line, change }: { of: CartData["lines"][number]; change(quantity: number): Promise<void> }) {
  const [wanted, setWanted] = useState<number | null>(null);
  const choose = async (quantity: number) => {
    setWanted(quantity);
    await change(quantity);
    // Another one may have been chosen meanwhile.
    setWanted((last) => (last === quantity ? null : last));
  };
  const quantity = wanted ?? line.quantity;
  return (
    <label>
      <span className="unseen">Quantity of {titleOf(line)}</span>
      <select value={quantity} onChange={(event) => choose(Number(event.target.value))}>
        {quantities(quantity).map((quantity) => <option key={quantity}>{quantity}</option>)}
      </select>
    </label>
  );
}

/** Stands in the place of a cart without lines: it is on its way, or empty, or has ended. */
function NoCart() {
  const { ended, load, status } = useCart();
  const lookAround = <Link to="/">Look around</Link>;
  return (
    <>
      <State
        error={status === "failed" ? "Your cart can't be loaded now." : null}
        isLoading={status === "loading"}
        what="your cart"
        again={load}
      />
      {status === "ordering" && <p className="notice" role="status">Your order is being placed …</p>}
      {status === "ready" && (
        <p className="notice" role="status">
          {!ended && <>It is empty. {lookAround}</>}
          {ended?.orderId && <>Your order was placed. <Link to={`/order/${ended.orderId}`}>See it</Link></>}
          {ended && !ended.orderId && <>Your cart has expired, because nothing was changed in it for a while. {lookAround}</>}
        </p>
      )}
    </>
  );
}

/** Says that prices of the cart have changed, and takes over the new ones. */
function NewPrices({ of: { lines } }: { of: CartData }) {
  const { acceptPrices } = useCart();
  const { told, isBusy, run } = useChange();
  if (!lines.some(({ priceChanged }) => priceChanged)) return null;
  const accept = async () => {
    if (isBusy) return;
    await run(acceptPrices);
    focusHeading();
  };
  return (
    <p className="notice" role="status">
      A price has changed since you chose.{" "}
      <button type="button" aria-disabled={isBusy} onClick={accept}>Accept the new prices</button>
      {told && <span className="bad"> {told}</span>}
    </p>
  );
}

/** The quantities to choose from. */
const quantities = (present: number) =>
  Array.from({ length: Math.max(10, present) }, (_, at) => at + 1);

function Sums({ of: { goods, discount, quote, voucher, total } }: { of: CartData }) {
  return (
    <dl className="sums">
      <div><dt>Goods</dt><dd>{goods.formatted}</dd></div>
      {discount.minorUnits > 0 && <div><dt>Voucher {voucher?.voucherCode}</dt><dd>−{discount.formatted}</dd></div>}
      <Totals of={quote?.isCurrent ? quote.charges : null} total={total.formatted} testId="total" />
    </dl>
  );
}

function VoucherForm({ of: { voucher } }: { of: CartData }) {
  const { applyVoucher, removeVoucher } = useCart();
  const { told, isBusy, run } = useChange();
  const [code, setCode] = useState("");
  // What had the focus leaves the page when the shopper's change has come.
  const isOwn = useRef(false);
  useEffect(() => {
    if (isOwn.current && document.activeElement === document.body) focusHeading();
    isOwn.current = false;
  }, [voucher?.voucherCode]);
  const change = async (change: () => Promise<string | null>) => {
    if (isBusy) return;
    isOwn.current = true;
    await run(change);
  };
  if (voucher) {
    return (
      <p>
        Voucher <strong>{voucher.voucherCode}</strong> is applied.{" "}
        <button type="button" className="plain" aria-disabled={isBusy} onClick={() => change(removeVoucher)}>Remove</button>
      </p>
    );
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (code.trim()) change(() => applyVoucher(code.trim()));
  };
  return (
    <form className="voucher" onSubmit={submit}>
      <label>Voucher <input value={code} onChange={(event) => setCode(event.target.value)} autoCapitalize="characters" autoComplete="off" /></label>
      <button aria-disabled={isBusy}>Apply</button>
      {told && <p className="bad" role="alert">{told}</p>}
    </form>
  );
}

const NAMES = new Intl.DisplayNames("en", { type: "region" });
const COUNTRIES = ["AT", "BE", "CH", "DE", "DK", "FR", "GB", "IT", "NL", "PL", "US"];

/**
 * The shipping methods for a country, and the one that is chosen: the cheapest one until the shopper takes another. The
 * choice is written to the cart, whose sums have it then. If there is none for the country, or it can't be chosen, the shopper
 * can do without one; a shop that needs one says so.
 */
function useDelivery(cart: CartData, country: string) {
  const { setShippingMethod, removeShippingMethod } = useCart();
  const { data, error, isLoading } = useQuery(ShippingMethods, { cartId: cart.id, country });
  const { told, isBusy, run } = useChange();
  // The country for which the shopper does without a method.
  const [without, setWithout] = useState<string | null>(null);
  const methods = data?.shippingMethods ?? [];
  const present = cart.quote?.charges.shippingMethod;
  const isChosen = cart.quote?.isCurrent === true && cart.quote.country === country;
  const isOffered = methods.some(({ shippingMethod }) => shippingMethod === present);
  const wanted = isOffered ? present : methods[0]?.shippingMethod;
  const hasNone = !isLoading && data?.shippingMethods?.length === 0;
  const isWithout = !cart.quote && (hasNone || without === country);
  // Two tabs with different countries would take it from each other for ever.
  const chosenFor = useRef<string | null>(null);
  const isTaken = cart.quote?.isCurrent === true && cart.quote.country !== country && chosenFor.current === country;
  const choose = (method: string) => {
    chosenFor.current = country;
    return run(() => setShippingMethod(method, country));
  };
  const skip = () =>
    run(async () => {
      const refused = cart.quote ? await removeShippingMethod() : null;
      if (!refused) setWithout(country);
      return refused;
    });
  useEffect(() => {
    if (wanted && !isLoading && !isChosen && !isTaken) choose(wanted);
    // A method that is refused isn't tried again by itself.
  }, [wanted, country, isLoading, isChosen]);
  return {
    methods,
    method: isChosen ? present : undefined,
    told: error ?? told ?? (isTaken ? TAKEN : null),
    isBusy,
    canSkip: !isLoading && !isChosen && !isWithout && (hasNone || error !== null || told !== null),
    // Nothing is ordered for another country than that of the address.
    isReady: !isLoading && !isBusy && (isChosen || isWithout),
    choose,
    skip,
  };
}

const TAKEN = "Another tab of the shop has chosen a delivery to another country. Please choose one for this one.";

function Delivery({ of: { methods, method, told, isBusy, canSkip, choose, skip } }: { of: ReturnType<typeof useDelivery> }) {
  return (
    <fieldset className="delivery" aria-busy={isBusy}>
      <legend>How shall we send it?</legend>
      {told && <p className="bad" role="alert">{told}</p>}
      {methods.map((offer) => (
        <label key={offer.shippingMethod}>
          <input
            type="radio"
            name="delivery"
            checked={offer.shippingMethod === method}
            onChange={() => choose(offer.shippingMethod)}
          />{" "}
          {offer.title} <span className="by">{deliveryPrice(offer)}</span>
        </label>
      ))}
      {canSkip && <button type="button" className="plain" onClick={skip}>Order without a delivery method</button>}
    </fieldset>
  );
}

export function CheckoutPage() {
  const { cart } = useCart();
  return (
    <>
      <Heading text="Check out" />
      {cart && cart.lines.length > 0 ? <CheckoutForm of={cart} /> : <NoCart />}
    </>
  );
}

function CheckoutForm({ of: cart }: { of: CartData }) {
  const { checkOut } = useCart();
  const [address, setAddress] = useState<Address>(() => ({ name: "", street: "", city: "", country: "DE", ...savedAddress() }));
  const delivery = useDelivery(cart, address.country);
  const { told, isBusy, run } = useChange();
  useEffect(() => saveAddress(address), [address]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isBusy) return;
    run(async () => {
      const outcome = await checkOut(address);
      if ("told" in outcome) return outcome.told;
      go(`/order/${outcome.orderId}`, true);
      return null;
    });
  };
  const field = (name: "name" | "street" | "city", label: string, autoComplete: string) => (
    <label>
      {label}
      <input
        required
        maxLength={200}
        name={name}
        autoComplete={autoComplete}
        value={address[name]}
        onChange={(event) => setAddress({ ...address, [name]: event.target.value })}
      />
    </label>
  );
  return (
    <>
      <NewPrices of={cart} />
      <form className="columns cart" onSubmit={submit}>
        <div>
          <fieldset className="address">
            <legend>Where shall we send it?</legend>
            {field("name", "Name", "name")}
            {field("street", "Street and number", "street-address")}
            {field("city", "Postcode and city", "address-level2")}
            <label>
              Country
              <select
                autoComplete="country"
                value={address.country}
                onChange={(event) => setAddress({ ...address, country: event.target.value })}
              >
                {COUNTRIES.map((code) => <option key={code} value={code}>{NAMES.of(code)}</option>)}
              </select>
            </label>
            <label>
              Email, if there are questions
              <input
                type="email"
                maxLength={254}
                name="email"
                autoComplete="email"
                value={address.email ?? ""}
                onChange={(event) => setAddress({ ...address, email: event.target.value || undefined })}
              />
            </label>
          </fieldset>
          <Delivery of={delivery} />
        </div>
        <aside aria-label="Sum">
          <Sums of={cart} />
          {cart.total.minorUnits > 0 && (
            <p className="hint">This demo takes no cards. The voucher <strong>GIFT</strong> pays for the goods: enter it in <Link to="/cart">the cart</Link>. Standard delivery is free.</p>
          )}
          <p><Link to="/cart">Change the cart</Link></p>
          {told && <p className="notice bad" role="alert">{told}</p>}
          <button className="main" disabled={!delivery.isReady} aria-disabled={isBusy}>{isBusy ? "Placing the order …" : "Place the order"}</button>
        </aside>
      </form>
    </>
  );
}
