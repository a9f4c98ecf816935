// The writes: carts without owner that take their stock at the checkout. Documents and answers are
// docgate's; an addition is the product's read and one guarded update of the cart.
import { GraphQLError } from "graphql";
import { Int32 } from "mongodb";
import { money } from "./reads.js";
import { derivedId, digest, globalId, isKey, keyOf, long, randomId } from "./values.js";

const MOST_QUANTITY = 10_000;
const MOST_LINES = 100;
/** Op records that a cart holds at the most, and how long each is kept. */
const MOST_OPS = 300;
const OPS_MILLIS = 3_600_000;

const refusal = (type, code, message, more) => ({ __typename: type, code, message, ...more });
const invalid = (field, reason) =>
  refusal("InvalidInput", "INVALID_INPUT", `input.${field}: ${reason}`, {
    field: `input.${field}`,
    reason,
  });
const notFound = (what, id) =>
  refusal("NotFound", "NOT_FOUND", `there is no ${what} "${id}"`, { what, id });

const literal = (value) => ({ $literal: value });
/** The ops that may not be forgotten yet. */
const young = {
  $filter: { input: "$ops", cond: { $gt: ["$$this.at", { $subtract: ["$$NOW", OPS_MILLIS] }] } },
};

/** The one update: the guard stands in its filter. */
function addition(key, { quantity, product, op }) {
  const { _id: sku, title, type, pricing } = product;
  const last = `lines.${MOST_LINES - 1}`;
  const guard = {
    _id: key,
    owner: { $exists: false },
    state: "ACTIVE",
    policy: "AT_CHECKOUT",
    currency: pricing.currency,
    $or: [
      { lines: { $elemMatch: { sku, quantity: { $lte: MOST_QUANTITY - quantity } } } },
      { "lines.sku": { $ne: sku }, [last]: { $exists: false } },
    ],
    "ops.id": { $ne: op.id },
    $expr: { $lt: [{ $size: young }, MOST_OPS] },
  };
  const grown = {
    $mergeObjects: ["$$this", { quantity: { $add: ["$$this.quantity", long(quantity)] } }],
  };
  const fresh = {
    sku: literal(sku),
    quantity: long(quantity),
    held: long(0),
    title: literal(title),
    type: literal(type),
    unitPrice: long(pricing.retail),
  };
  const update = {
    lines: {
      $cond: [
        { $in: [literal(sku), "$lines.sku"] },
        {
          $map: {
            input: "$lines",
            in: { $cond: [{ $eq: ["$$this.sku", literal(sku)] }, grown, "$$this"] },
          },
        },
        { $concatArrays: ["$lines", [fresh]] },
      ],
    },
    ops: {
      $concatArrays: [
        young,
        [{ tag: literal(`${op.id}/0`), id: literal(op.id), input: literal(op.input), at: "$$NOW" }],
      ],
    },
    modifiedAt: "$$NOW",
  };
  return [guard, [{ $set: update }]];
}

/** Why an addition was refused, by the cart as it is now; null where the cart doesn't say. */
function reason(cart, { key, sku, quantity, product, op }) {
  if (!cart || cart.owner) return notFound("cart", globalId("cart", key));
  const record = cart.ops.find(({ id }) => id === op.id);
  if (record?.input === op.input) return cart;
  if (record) {
    const message = "the idempotency key was used before with another input; nothing was changed";
    return refusal("Conflict", "CONFLICT", message);
  }
  if (cart.state !== "ACTIVE") {
    const message = `a cart in the state ${cart.state} can't be changed`;
    return refusal("CartNotActive", "CART_NOT_ACTIVE", message, { cartState: cart.state });
  }
  if (!product) return notFound("product", sku);
  const { currency } = product.pricing;
  if (currency !== cart.currency) {
    const message = `the currencies differ: cart ${cart.currency}, product ${currency}`;
    return refusal("CurrencyMismatch", "CURRENCY_MISMATCH", message, {
      expected: cart.currency,
      found: currency,
    });
  }
  const line = cart.lines.find((line) => line.sku === sku);
  if (line && line.quantity > MOST_QUANTITY - quantity) {
    return invalid("quantity", `the cart has ${line.quantity} and takes at most ${MOST_QUANTITY}`);
  }
  if (!line && cart.lines.length >= MOST_LINES) {
    return invalid("sku", `a cart takes at most ${MOST_LINES} lines`);
  }
  return null;
}

const Mutation = {
  async openCart(_, { input: { policy, currency, idempotencyKey } }, { collections }) {
    if (idempotencyKey != null)
      return invalid("idempotencyKey", "takes a signed-in caller; without a token leave it out");
    if (policy !== "AT_CHECKOUT")
      throw new GraphQLError("only carts that take stock at the checkout are served here");
    const now = new Date();
    const cart = {
      _id: randomId(),
      policy,
      currency,
      state: "ACTIVE",
      lines: [],
      ops: [],
      outbox: [],
      attempts: new Int32(0),
      openedAt: now,
      modifiedAt: now,
      v: new Int32(1),
    };
    await collections.carts.insertOne(cart);
    return cart;
  },

  async addCartLine(_, { input: { cartId, sku, quantity, idempotencyKey } }, { collections, load }) {
    if (!isKey(sku)) return invalid("sku", "takes 1 to 128 letters, digits, '-', '_', '~' or ':'");
    if (quantity < 1 || quantity > MOST_QUANTITY)
      return invalid("quantity", `must be between 1 and ${MOST_QUANTITY}`);
    const key = keyOf("cart", cartId);
    if (!key) return invalid("cartId", "isn't the id of any cart");
    const op = {
      id: idempotencyKey == null ? randomId() : derivedId("op", key, "addCartLine", idempotencyKey),
      input: digest([sku, quantity]),
    };
    const found = await load("product", sku);
    const product = found?.deletedAt ? null : found;
    const asked = { key, sku, quantity, product, op };
    if (product) {
      const [guard, update] = addition(key, asked);
      const after = await collections.carts.findOneAndUpdate(guard, update, {
        returnDocument: "after",
      });
      if (after) return after;
    }
    const told = reason(await collections.carts.findOne({ _id: key }), asked);
    if (told) return told;
    throw new GraphQLError("the cart takes no more changes for now", {
      extensions: { code: "RATE_LIMITED" },
    });
  },
};

const total = ({ unitPrice, quantity }) => unitPrice * quantity;
const result = { __resolveType: ({ __typename }) => __typename ?? "Cart" };

export const carts = {
  Mutation,
  OpenCartResult: result,
  AddCartLineResult: result,
  UserError: result,
  Cart: {
    id: ({ _id }) => globalId("cart", _id),
    lines: ({ lines, currency }) => lines.map((line) => ({ ...line, currency })),
    total: ({ lines, currency }) =>
      money(
        lines.reduce((sum, line) => sum + total(line), 0),
        currency,
      ),
  },
  CartLine: {
    unitPrice: ({ unitPrice, currency }) => money(unitPrice, currency),
    total: (line) => money(total(line), line.currency),
  },
};
