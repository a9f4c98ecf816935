// The cart, and the checkout with the address.

import { type FormEvent, useState } from "react";
import { type Address, useCart } from "../cart";
import type { CartData } from "../operations";
import { Link, go } from "../router";
import { Heading, Picture, productPath } from "../ui";

/** One change at a time, and what came of the last one. */
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
  const { cart, acceptPrices, setQuantity } = useCart();
  const { told, isBusy, run } = useChange();
  if (!cart || cart.lines.length === 0) {
    return (
      <>
        <Heading text="Your cart" />
        <p className="notice">It is empty. <Link to="/">Look around</Link></p>
      </>
    );
  }
  return (
    <>
      <Heading text="Your cart" />
      {told && <p className="notice bad" role="alert">{told}</p>}
      {cart.lines.some(({ priceChanged }) => priceChanged) && (
        <p className="notice" role="status">
          A price has changed since you chose.{" "}
          <button type="button" onClick={() => run(acceptPrices)}>Accept the new prices</button>
        </p>
      )}
      <div className="columns cart">
        <ul className="lines">
          {cart.lines.map((line) => (
            <li key={line.sku}>
              <Picture of={line.product?.images[0]} sizes="80px" />
              <div>
                <Link to={productPath({ sku: line.sku, slug: line.product?.slug ?? null })}>{line.title}</Link>
                <p className="by">
                  {line.unitPrice.formatted}
                  {line.priceChanged && line.priceNow && ` (now ${line.priceNow.formatted})`}
                </p>
                <label>
                  <span className="unseen">Quantity of {line.title}</span>
                  <select
                    value={line.quantity}
                    disabled={isBusy}
                    onChange={(event) => run(() => setQuantity(line.sku, Number(event.target.value)))}
                  >
                    {quantities(line.quantity).map((quantity) => <option key={quantity}>{quantity}</option>)}
                  </select>
                </label>{" "}
                <button
                  type="button"
                  className="plain"
                  disabled={isBusy}
                  onClick={() => run(() => setQuantity(line.sku, 0))}
                  aria-label={`Remove ${line.title}`}
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

/** The quantities to choose from. */
const quantities = (present: number) =>
  Array.from({ length: Math.max(10, present) }, (_, at) => at + 1);

function Sums({ of: { goods, discount, voucher, total } }: { of: CartData }) {
  return (
    <dl className="sums">
      <div><dt>Goods</dt><dd>{goods.formatted}</dd></div>
      {discount.minorUnits > 0 && <div><dt>Voucher {voucher?.voucherCode}</dt><dd>−{discount.formatted}</dd></div>}
      <div className="total"><dt>Total</dt><dd data-testid="total">{total.formatted}</dd></div>
    </dl>
  );
}

function VoucherForm({ of: { voucher } }: { of: CartData }) {
  const { applyVoucher, removeVoucher } = useCart();
  const { told, isBusy, run } = useChange();
  const [code, setCode] = useState("");
  if (voucher) {
    return (
      <p>
        Voucher <strong>{voucher.voucherCode}</strong> is applied.{" "}
        <button type="button" className="plain" disabled={isBusy} onClick={() => run(removeVoucher)}>Remove</button>
      </p>
    );
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (code.trim()) run(() => applyVoucher(code.trim()));
  };
  return (
    <form className="voucher" onSubmit={submit}>
      <label>Voucher <input value={code} onChange={(event) => setCode(event.target.value)} autoCapitalize="characters" autoComplete="off" /></label>
      <button disabled={isBusy}>Apply</button>
      {told && <p className="bad" role="alert">{told}</p>}
    </form>
  );
}

const NAMES = new Intl.DisplayNames("en", { type: "region" });
const COUNTRIES = ["AT", "BE", "CH", "DE", "DK", "FR", "GB", "IT", "NL", "PL", "US"];

export function CheckoutPage() {
  const { cart, checkOut } = useCart();
  const [address, setAddress] = useState<Address>({ name: "", street: "", city: "", country: "DE" });
  const { told, isBusy, run } = useChange();
  if (!cart || cart.lines.length === 0) return <CartPage />;
  const submit = (event: FormEvent) => {
    event.preventDefault();
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
      <Heading text="Check out" />
      <form className="columns cart" onSubmit={submit}>
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
        </fieldset>
        <aside aria-label="Sum">
          <Sums of={cart} />
          {cart.total.minorUnits > 0 && (
            <p className="hint">This demo takes no cards. The voucher <strong>GIFT</strong> pays for everything: enter it in <Link to="/cart">the cart</Link>.</p>
          )}
          {told && <p className="notice bad" role="alert">{told}</p>}
          <button className="main" disabled={isBusy}>{isBusy ? "Placing the order …" : "Place the order"}</button>
        </aside>
      </form>
    </>
  );
}
