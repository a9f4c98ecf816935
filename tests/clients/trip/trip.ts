// A shopping trip. Every operation, its variables and each way in which it can be refused are typed by what
// codegen makes of the schema: what the schema doesn't say doesn't compile.

import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { print } from "graphql";

import { graphql } from "./generated/gql.js";
import type { OrderState } from "./generated/graphql.js";

export interface Shop {
  url: string;
  shopper: string;
  admin: string;
  /** Makes idempotency keys. */
  idempotencyKey: () => string;
}

/** What the trip ends with. */
export interface Souvenir {
  order: string;
  state: OrderState;
  paid: number;
  quantities: Record<string, number>;
  /** Titles of what was put into the cart, by SKU. */
  titles: Record<string, string | undefined>;
  orders: number;
}

const Open = graphql(`
  mutation Open($input: OpenCartInput!) {
    openCart(input: $input) {
      __typename
      ... on Cart { id currency }
      ... on UserError { code message }
    }
  }
`);

const Add = graphql(`
  mutation Add($input: AddCartLineInput!) {
    addCartLine(input: $input) {
      __typename
      ... on Cart { id lines { sku quantity held product { title } } total { minorUnits } }
      ... on InsufficientStock { sku requested available }
      ... on CurrencyMismatch { expected found }
      ... on CartNotActive { cartState }
      ... on UserError { code message }
    }
  }
`);

const OpenAccount = graphql(`
  mutation OpenAccount($input: OpenAccountInput!) {
    openAccount(input: $input) {
      __typename
      ... on Account { id }
      ... on UserError { code message }
    }
  }
`);

const Deposit = graphql(`
  mutation Deposit($input: DepositInput!) {
    deposit(input: $input) {
      __typename
      ... on Transfer { id state }
      ... on UserError { code message }
    }
  }
`);

const Checkout = graphql(`
  mutation Checkout($input: CheckoutCartInput!) {
    checkoutCart(input: $input) {
      __typename
      ... on Order { id paid { minorUnits } }
      ... on CheckoutShort { shortLines { sku requested available } }
      ... on PaymentDeclined { reason }
      ... on UserError { code message }
    }
  }
`);

const Status = graphql(`
  query Status($id: ID!) {
    node(id: $id) {
      __typename
      ... on Order {
        id state placedAt paid { minorUnits }
        lines { sku quantity unitPrice { minorUnits currency } }
        cart { id state }
      }
    }
    myOrders(last: 3) { edges { node { id } } pageInfo { hasPreviousPage startCursor } }
  }
`);

const Find = graphql(`
  query Find($prefix: String!) {
    products(by: { titleStartsWith: { prefix: $prefix, type: "album" } }, first: 1) {
      edges { node { __typename sku ... on Album { tracks { title seconds } } } }
    }
    product(sku: "ALB-00008") { sku title }
  }
`);

/** What a mutation was answered with isn't what was hoped for: a refusal, or null if it failed. */
class Refused extends Error {
  constructor(readonly outcome: { __typename: string } | null) {
    super(`refused: ${JSON.stringify(outcome)}`);
  }
}

async function send<Result, Variables>(
  shop: Shop,
  token: string,
  document: TypedDocumentNode<Result, Variables>,
  variables: Variables,
): Promise<Result> {
  const answer = await fetch(shop.url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({ query: print(document), variables }),
  });
  const body = (await answer.json()) as { data?: Result; errors?: unknown };
  if (!body.data || body.errors) throw new Error(JSON.stringify(body));
  return body.data;
}

export async function trip(shop: Shop): Promise<Souvenir> {
  const asShopper = <Result, Variables>(document: TypedDocumentNode<Result, Variables>, variables: Variables) =>
    send(shop, shop.shopper, document, variables);

  const title = (await asShopper(Find, { prefix: "a" })).product?.title ?? "";
  const found = await asShopper(Find, { prefix: title });
  const sku = found.products.edges[0]?.node.sku;
  if (!sku) throw new Error(`nothing begins like ${title}`);

  const { openCart: cart } = await asShopper(Open, {
    input: { policy: "RESERVE", currency: "EUR", idempotencyKey: shop.idempotencyKey() },
  });
  if (cart?.__typename !== "Cart") throw new Refused(cart);

  let total = 0;
  const quantities: Record<string, number> = {};
  const titles: Record<string, string | undefined> = {};
  for (const [product, quantity] of [[sku, 1], ["ALB-00007", 2]] as const) {
    const input = { cartId: cart.id, sku: product, quantity, idempotencyKey: shop.idempotencyKey() };
    const { addCartLine: added } = await asShopper(Add, { input });
    switch (added?.__typename) {
      case "Cart":
        total = added.total.minorUnits;
        for (const line of added.lines) {
          quantities[line.sku] = line.quantity;
          titles[line.sku] = line.product?.title;
        }
        break;
      case "InsufficientStock":
        throw new Error(`${added.available} of ${added.sku}, not ${added.requested}`);
      case "CurrencyMismatch":
        throw new Error(`${added.found} instead of ${added.expected}`);
      default:
        throw new Refused(added);
    }
  }

  const { openAccount: account } = await asShopper(OpenAccount, { input: { currency: "EUR", idempotencyKey: shop.idempotencyKey() } });
  if (account?.__typename !== "Account") throw new Refused(account);
  const input = { accountId: account.id, amount: total, idempotencyKey: shop.idempotencyKey() };
  const { deposit } = await send(shop, shop.admin, Deposit, { input });
  if (deposit?.__typename !== "Transfer") throw new Refused(deposit);

  const { checkoutCart: order } = await asShopper(Checkout, {
    input: {
      cartId: cart.id,
      idempotencyKey: shop.idempotencyKey(),
      payment: { accountId: account.id },
      shipping: { name: "Anna Berg", street: "Ringstr. 5", city: "50667 Köln", country: "DE" },
    },
  });
  if (order?.__typename !== "Order") throw new Refused(order);
  if (order.paid.minorUnits !== total) throw new Error(`${order.paid.minorUnits} paid, not ${total}`);

  const { node, myOrders } = await asShopper(Status, { id: order.id });
  if (node?.__typename !== "Order") throw new Error("the order isn't there");
  if (node.cart?.id !== cart.id) throw new Error(`the order is of the cart ${node.cart?.id}`);
  const bought = Object.fromEntries(node.lines.map((line) => [line.sku, line.quantity]));
  return {
    order: node.id,
    state: node.state,
    paid: node.paid.minorUnits,
    quantities: bought,
    titles,
    orders: myOrders.edges.length,
  };
}
