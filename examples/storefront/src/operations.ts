// What the app asks docgate. Each page is one request; the frame around it is another one, sent once.

import { type ResultOf, graphql } from "./graphql";

const Picture = graphql(`
  fragment Picture on Image { url(width: 480) large: url(width: 960) width height alternativeText }
`);

const Card = graphql(
  `
  fragment Card on Product {
    __typename sku slug type title availability
    images { ...Picture }
    contributors { personId name role }
    rating { average count }
    pricing { pctSavings list { formatted(locale: "en") } retail { formatted(locale: "en") } }
  }
`,
  [Picture],
);

const Charges = graphql(`
  fragment Charges on ShippingCharges {
    shippingMethod title taxIncluded
    shipping { minorUnits formatted(locale: "en") }
    tax { minorUnits formatted(locale: "en") }
  }
`);

const Cart = graphql(
  `
  fragment Cart on Cart {
    id state
    lines {
      sku title variantTitle quantity priceChanged
      unitPrice { formatted(locale: "en") }
      priceNow { formatted(locale: "en") }
      total { formatted(locale: "en") }
      product(locale: "en") { __typename slug images { ...Picture } }
      variant { image { ...Picture } }
    }
    voucher { voucherCode percent }
    goods { formatted(locale: "en") }
    discount { minorUnits formatted(locale: "en") }
    quote { country isCurrent charges { ...Charges } }
    total { minorUnits formatted(locale: "en") }
  }
`,
  [Picture, Charges],
);

const Order = graphql(
  `
  fragment Order on Order {
    id number stage placedAt discountCode
    lines { sku title variantTitle quantity total { formatted(locale: "en") } }
    discount { minorUnits formatted(locale: "en") }
    charges { ...Charges }
    tax { minorUnits formatted(locale: "en") }
    shippingRefunded { minorUnits formatted(locale: "en") }
    total { formatted(locale: "en") }
    shipping { name street city country email }
    shipments { state carrier tracking }
  }
`,
  [Charges],
);

export type PictureData = ResultOf<typeof Picture>;
export type CardData = ResultOf<typeof Card>;
export type CartData = ResultOf<typeof Cart>;
export type ChargesData = ResultOf<typeof Charges>;
export type OrderData = ResultOf<typeof Order>;

/** The menu, and the cart if there is one. */
export const Frame = graphql(
  `
  query Frame($cartId: ID!, $hasCart: Boolean!) {
    categories { nodes { path name(locale: "en") } }
    cart(id: $cartId) @include(if: $hasCart) { ...Cart orderId }
  }
`,
  [Cart],
);

/** A list: of a category with its facets, of a person, or of all products. Further pages leave category and person out. */
export const List = graphql(
  `
  query List(
    $path: String!, $hasCategory: Boolean!, $by: ID!, $hasPerson: Boolean!, $where: ProductsWhere!, $after: String
  ) {
    person(id: $by) @include(if: $hasPerson) { name }
    category(by: {path: $path}) @include(if: $hasCategory) {
      path
      name(locale: "en")
      breadcrumbs { path name(locale: "en") }
      children(first: 30) { nodes { path name(locale: "en") } }
      facets {
        total
        types { value count }
        prices { currency min max count }
        contributors { personId name count }
        properties { key values { value count } }
      }
    }
    products(by: {where: $where}, first: 24, after: $after, locale: "en") {
      totalCount
      nodes { ...Card }
      pageInfo { hasNextPage endCursor }
    }
  }
`,
  [Card],
);

export const Suggest = graphql(`
  query Suggest($text: String!) {
    suggest(text: $text, first: 6) {
      products { sku slug type title(locale: "en") correctedText }
      people { personId name correctedText }
    }
  }
`);

export const Product = graphql(
  `
  query Product($by: ProductBy!) {
    product(by: $by, locale: "en") {
      ...Card
      id description issueDate formerSlugs
      stock { available }
      options { name }
      variants {
        sku title
        pricing { pctSavings list { formatted(locale: "en") } retail { formatted(locale: "en") } }
        stock { available }
        image { url(width: 480) }
      }
      categories { path name(locale: "en") }
      ... on Album { label genres tracks { title seconds } }
      ... on Book { isbn pages }
      ... on Film { certificate genres }
      ... on GenericProduct { properties { key value } }
      discussion {
        commentCount
        latestComments { id author { name } postedAt stars text }
      }
      boughtTogether(first: 6) { ...Card }
      related(first: 6) { nodes { ...Card } }
    }
  }
`,
  [Card],
);

export const StockChanged = graphql(`
  subscription StockChanged($sku: ID!) { stockChanged(sku: $sku) { available } }
`);

export const OpenCart = graphql(
  `
  mutation OpenCart {
    openCart(input: {policy: RESERVE, currency: "EUR"}) {
      __typename
      ... on Cart { ...Cart }
      ... on UserError { code message }
    }
  }
`,
  [Cart],
);

export const AddLine = graphql(
  `
  mutation AddLine($cartId: ID!, $sku: ID!, $key: ID!) {
    addCartLine(input: {cartId: $cartId, sku: $sku, quantity: 1, idempotencyKey: $key}) {
      __typename
      ... on Cart { ...Cart }
      ... on InsufficientStock { available }
      ... on NotFound { what }
      ... on UserError { code message }
    }
  }
`,
  [Cart],
);

export const SetQuantity = graphql(
  `
  mutation SetQuantity($cartId: ID!, $sku: ID!, $quantity: Int!, $key: ID!) {
    setCartLineQuantity(input: {cartId: $cartId, sku: $sku, quantity: $quantity, idempotencyKey: $key}) {
      __typename
      ... on Cart { ...Cart }
      ... on InsufficientStock { available }
      ... on NotFound { what }
      ... on UserError { code message }
    }
  }
`,
  [Cart],
);

export const RemoveLine = graphql(
  `
  mutation RemoveLine($cartId: ID!, $sku: ID!, $key: ID!) {
    removeCartLine(input: {cartId: $cartId, sku: $sku, idempotencyKey: $key}) {
      __typename
      ... on Cart { ...Cart }
      ... on NotFound { what }
      ... on UserError { code message }
    }
  }
`,
  [Cart],
);

export const ApplyVoucher = graphql(
  `
  mutation ApplyVoucher($cartId: ID!, $code: String!, $key: ID!) {
    applyVoucher(input: {cartId: $cartId, code: $code, idempotencyKey: $key}) {
      __typename
      ... on Cart { ...Cart }
      ... on NotFound { what }
      ... on UserError { code message }
    }
  }
`,
  [Cart],
);

export const RemoveVoucher = graphql(
  `
  mutation RemoveVoucher($cartId: ID!, $key: ID!) {
    removeVoucher(input: {cartId: $cartId, idempotencyKey: $key}) {
      __typename
      ... on Cart { ...Cart }
      ... on NotFound { what }
      ... on UserError { code message }
    }
  }
`,
  [Cart],
);

export const AcceptPrices = graphql(
  `
  mutation AcceptPrices($cartId: ID!, $key: ID!) {
    acceptPrices(input: {cartId: $cartId, idempotencyKey: $key}) {
      __typename
      ... on Cart { ...Cart }
      ... on NotFound { what }
      ... on UserError { code message }
    }
  }
`,
  [Cart],
);

export const ShippingMethods = graphql(
  `
  query ShippingMethods($cartId: ID!, $country: String!) {
    shippingMethods(cartId: $cartId, country: $country) { ...Charges }
  }
`,
  [Charges],
);

export const SetShippingMethod = graphql(
  `
  mutation SetShippingMethod($cartId: ID!, $method: String!, $country: String!, $key: ID!) {
    setShippingMethod(input: {cartId: $cartId, shippingMethod: $method, country: $country, idempotencyKey: $key}) {
      __typename
      ... on Cart { ...Cart }
      ... on NotFound { what }
      ... on UserError { code message }
    }
  }
`,
  [Cart],
);

export const RemoveShippingMethod = graphql(
  `
  mutation RemoveShippingMethod($cartId: ID!, $key: ID!) {
    removeShippingMethod(input: {cartId: $cartId, idempotencyKey: $key}) {
      __typename
      ... on Cart { ...Cart }
      ... on NotFound { what }
      ... on UserError { code message }
    }
  }
`,
  [Cart],
);

export const Checkout = graphql(
  `
  mutation Checkout($cartId: ID!, $shipping: ShippingAddressInput!, $key: ID!) {
    checkoutCart(input: {cartId: $cartId, payment: {}, shipping: $shipping, idempotencyKey: $key}) {
      __typename
      ... on Order { ...Order }
      ... on CheckoutShort { shortLines { sku available } }
      ... on InvalidInput { field }
      ... on UserError { code message }
    }
  }
`,
  [Order],
);

export const OrderChanged = graphql(
  `
  subscription OrderChanged($id: ID!) { orderChanged(orderId: $id) { ...Order } }
`,
  [Order],
);

export const Orders = graphql(
  `
  query Orders($ids: [ID!]!) { nodes(ids: $ids) { __typename ... on Order { ...Order } } }
`,
  [Order],
);

/** A page of the site, and the entries below it if it is a blog. */
export const Page = graphql(
  `
  query Page($path: String!) {
    content(by: {path: $path}) {
      __typename id path redirectedFrom title html publishedAt
      author { name }
      images { ...Picture }
      ... on Blog { subtitle feedPath }
    }
    contents(by: {below: $path}, first: 20) {
      nodes { __typename id path title publishedAt ... on BlogEntry { summary } }
    }
  }
`,
  [Picture],
);
