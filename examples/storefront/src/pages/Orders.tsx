// An order as it is now, and the orders that were placed in this browser.

import { titleOf } from "../cart";
import { useLive, useQuery } from "../data";
import { OrderChanged, type OrderData, Orders } from "../operations";
import { Link } from "../router";
import { savedOrders } from "../storage";
import { Heading, State, Totals, capital, day } from "../ui";
import { Missing } from "./List";

const COUNTRIES = new Intl.DisplayNames("en", { type: "region" });
const stageOf = ({ stage }: OrderData) => capital(stage.toLowerCase());

/** One order. It follows what the merchant does: packing, shipping, delivery. */
export function OrderPage({ id }: { id: string }) {
  const { data, hasEnded } = useLive(OrderChanged, { id });
  const order = data?.orderChanged;
  if (!order) return hasEnded ? <Missing /> : <State isLoading what="your order" />;
  const { shipping } = order;
  return (
    <article className="order">
      <Heading text="Your order" />
      <p className="lead">Thank you. Its number is <strong data-testid="order-number">{order.number ?? "…"}</strong>.</p>
      <p role="status">Ordered on {day(order.placedAt)}. State: <strong>{stageOf(order)}</strong></p>
      <div className="columns cart">
        <div>
          <ul className="lines">
            {order.lines.map((line) => (
              <li key={line.sku}>
                <div>{line.quantity} × {titleOf(line)}</div>
                <strong>{line.total.formatted}</strong>
              </li>
            ))}
          </ul>
          <dl className="sums">
            {order.discount.minorUnits > 0 && <div><dt>Voucher {order.discountCode}</dt><dd>−{order.discount.formatted}</dd></div>}
            <Totals of={order.charges} tax={order.tax} refunded={order.shippingRefunded} total={order.total.formatted} />
          </dl>
        </div>
        <aside>
          <h2>Goes to</h2>
          <address>{shipping.name}<br />{shipping.street}<br />{shipping.city}<br />{COUNTRIES.of(shipping.country)}</address>
          {shipping.email && <p>{shipping.email}</p>}
          {order.shipments.map(({ state, carrier, tracking }, at) => (
            <p key={at}>Parcel {at + 1}: {state.toLowerCase()} {carrier} {tracking}</p>
          ))}
          <p><Link to="/orders">All your orders</Link></p>
        </aside>
      </div>
    </article>
  );
}

export function OrdersPage() {
  const ids = savedOrders();
  const { data, error, isLoading, again } = useQuery(Orders, { ids });
  const orders = data?.nodes.filter((node) => node?.__typename === "Order") ?? [];
  return (
    <>
      <Heading text="Your orders" />
      <p className="hint">Orders that were placed in this browser.</p>
      <State error={error} isLoading={isLoading} what="your orders" again={again} />
      {data && orders.length === 0 && <p className="notice">There are none yet. <Link to="/">Look around</Link></p>}
      <ul className="orders">
        {orders.map((order) => (
          <li key={order.id}>
            <Link to={`/order/${order.id}`}>{order.number ?? "Order"}</Link>
            <span>{day(order.placedAt)}</span>
            <span>{order.lines.map((line) => `${line.quantity} × ${titleOf(line)}`).join(", ")}</span>
            <span>{stageOf(order)}</span>
            <strong>{order.total.formatted}</strong>
          </li>
        ))}
      </ul>
    </>
  );
}
