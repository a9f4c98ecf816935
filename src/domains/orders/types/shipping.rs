//! GraphQL types of refunds of shipping.

use super::{super::documents::OrderDocument, Order, OrderNotOpen};
use crate::{domains::carts::quotes::MAX_AMOUNT, graphql::prelude::*};

input! {
    /// Input of `refundShipping`: the order, and how much of its shipping is given back.
    pub struct RefundShippingInput {
        /// Global id of the order.
        pub order_id: ID where id(NodeKind::ORDER),
        /// Amount in minor units of the order's currency, with the tax on shipping, at least 1. Default: all that is left.
        pub amount: Option<Long> where optional(within(1..=MAX_AMOUNT)),
        /// Idempotency key, 1 to 128 characters. The amount is given back once, however often the call is repeated with the
        /// same key.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }
}

result! {
    /// Result of `refundShipping`: the order with less shipping, or a refusal. `NotFound`: there is no such order.
    pub enum RefundShippingResult:
        OrderDocument => Order | NotFound | OrderNotOpen | RefundTooLarge | Conflict | InvalidInput;
}

refusal! {
    /// More was to be given back than is left of what the order paid. Nothing was changed.
    struct RefundTooLarge as "REFUND_TOO_LARGE" {
        /// Amount that was to be given back. It is 0 if all that is left was to be given back, and nothing is left.
        pub requested: Money,
        /// Amount that is left, with the tax on it.
        pub available: Money,
    }
}

impl RefundTooLarge {
    /// `requested` was to be given back, and only `available` is left; in minor units.
    pub fn new(requested: i64, available: i64, currency: CurrencyCode) -> Self {
        let [requested, left] = [requested, available].map(|amount| Money::new(amount, currency));
        let message = match available {
            0 => "nothing is left to be given back".to_owned(),
            _ => format!("{left} are left, {requested} were to be given back"),
        };
        Self::because(message, requested, left)
    }
}
