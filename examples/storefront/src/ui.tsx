// Small parts that several pages use.

import { type ReactNode, useEffect, useRef, useState } from "react";
import { useCart } from "./cart";
import type { CardData, ChargesData, OrderData, PictureData } from "./operations";
import { Link, hasMoved } from "./router";

/** The address of a product's page. */
export const productPath = ({ sku, slug }: { sku: string; slug: string | null }) =>
  slug ? `/product/${slug}` : `/sku/${encodeURIComponent(sku)}`;

export const sitePath = (path: string) => `/site${path}`;

/** `band width` as `Band width`. */
export const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

const DATE = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
export const day = (time: string) => DATE.format(new Date(time));

/** A picture in the width that its place needs. Its text stands for one that fails, and a sign where there is none. */
export function Picture({ of, sizes, isFirst }: { of: PictureData | null | undefined; sizes: string; isFirst?: boolean }) {
  const [failed, setFailed] = useState<string | null>(null);
  if (!of) return <span className="picture none" aria-hidden="true">♪</span>;
  if (failed === of.url) return <span className="picture failed">{of.alternativeText}</span>;
  return (
    <img
      className="picture"
      src={of.url}
      srcSet={`${of.url} 480w, ${of.large} 960w`}
      sizes={sizes}
      width={of.width ?? undefined}
      height={of.height ?? undefined}
      alt={of.alternativeText ?? ""}
      loading={isFirst ? "eager" : "lazy"}
      onError={() => setFailed(of.url)}
    />
  );
}

const AVAILABILITY = { IN_STOCK: "In stock", LOW: "Only a few left", OUT: "Sold out" } as const;

export function Availability({ of }: { of: CardData["availability"] }) {
  return of && <span className={`availability ${of.toLowerCase()}`}>{AVAILABILITY[of]}</span>;
}

export function Price({ of: { retail, list, pctSavings } }: { of: CardData["pricing"] }) {
  return (
    <span className="price">
      <strong>{retail.formatted}</strong>
      {pctSavings > 0 && (
        <>
          {" "}
          <s><span className="unseen">instead of </span>{list.formatted}</s> <em>−{pctSavings}%</em>
        </>
      )}
    </span>
  );
}

export function Cards({ of }: { of: readonly CardData[] }) {
  return (
    <ul className="cards">
      {of.map((product, at) => (
        <li key={product.sku}>
          <Link to={productPath(product)} className="card">
            <Picture of={product.images[0]} sizes="(max-width: 640px) 46vw, 230px" isFirst={at < 4} />
            <span className="title">{product.title}</span>
            <span className="by">{product.contributors[0]?.name ?? capital(product.type)}</span>
            {product.rating && (
              <span className="rating">
                <Stars of={product.rating.average} /> <small>{product.rating.count.toLocaleString("en")}</small>
              </span>
            )}
            <Price of={product.pricing} />
            <Availability of={product.availability} />
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** Stars of a review, or an average of them. */
export function Stars({ of }: { of: number }) {
  const full = Math.round(of);
  return (
    <span className="stars" role="img" aria-label={`${of.toLocaleString("en", { maximumFractionDigits: 1 })} of 5 stars`}>
      {"★".repeat(full)}
      <span className="empty">{"★".repeat(5 - full)}</span>
    </span>
  );
}

/**
 * The rows of a sum behind the goods: delivery, tax that is added, the total, tax that is in the prices, and what was given
 * back of the delivery.
 */
export function Totals({ of: charges, tax, refunded, total, testId }: {
  of: ChargesData | null;
  /** Tax in the prices of an order without a delivery. */
  tax?: OrderData["tax"];
  refunded?: OrderData["shippingRefunded"];
  total: string;
  testId?: string;
}) {
  const taxed = charges && charges.tax.minorUnits > 0 ? charges : null;
  const included = taxed ? taxed.taxIncluded && taxed.tax : !charges && tax && tax.minorUnits > 0 && tax;
  const isRefunded = refunded !== undefined && refunded.minorUnits > 0;
  return (
    <>
      {charges && <div><dt>{charges.title}</dt><dd>{isRefunded ? charges.shipping.formatted : deliveryPrice(charges)}</dd></div>}
      {taxed && !taxed.taxIncluded && <div><dt>Tax</dt><dd>{taxed.tax.formatted}</dd></div>}
      <div className="total"><dt>Total</dt><dd data-testid={testId}>{total}</dd></div>
      {included && <div className="included"><dt>Tax included</dt><dd>{included.formatted}</dd></div>}
      {isRefunded && <div className="included"><dt>Delivery refunded</dt><dd>{refunded.formatted}</dd></div>}
    </>
  );
}

export const deliveryPrice = ({ shipping }: ChargesData) =>
  shipping.minorUnits > 0 ? shipping.formatted : "free";

/** What goes wrong or takes its time. `again` is another try. */
export function State({ error, isLoading, what, again }: {
  error?: string | null;
  isLoading: boolean;
  what: string;
  again?: () => void;
}) {
  if (error) {
    return (
      <p className="notice bad" role="alert">
        {error} {again && <button type="button" onClick={() => (focusHeading(), again())}>Try again</button>}
      </p>
    );
  }
  return isLoading ? <p className="notice" role="status">Loading {what} …</p> : null;
}

/** The heading of a page. It takes the focus when the page is opened, and names the tab. Without a text it isn't known yet. */
export function Heading({ children, text }: { children?: ReactNode; text?: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = text ? `${text} – Larkham` : "Larkham";
    // Not at the start: whoever opens the shop begins at its top. And not while somebody types.
    const isTyping = document.activeElement?.matches("input, select");
    if (hasMoved() && !isTyping) heading.current?.focus({ preventScroll: true });
  }, [text]);
  return <h1 ref={heading} tabIndex={-1}>{children ?? text ?? "…"}</h1>;
}

/** Takes the focus from what is about to leave the page, or has left it. */
export const focusHeading = () => document.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });

/** A button that puts a product into the cart, and says what came of it. */
export function AddToCart({ sku, isOut }: { sku: string; isOut: boolean }) {
  const { add } = useCart();
  const [told, setTold] = useState<string | null>(null);
  const [state, setState] = useState<"ready" | "busy" | "done">("ready");
  const put = async () => {
    if (state === "busy") return;
    setState("busy");
    const refusal = await add(sku);
    setTold(refusal);
    setState(refusal ? "ready" : "done");
  };
  return (
    <div className="add">
      <button type="button" className="main" onClick={put} disabled={isOut} aria-disabled={state === "busy"}>
        {isOut ? "Sold out" : "Add to cart"}
      </button>
      <p role="status">
        {told ?? (state === "done" && <>In your cart. <Link to="/cart">Go to the cart</Link></>)}
      </p>
    </div>
  );
}
