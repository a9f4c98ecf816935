//! Refunds of shipping alone. A refund is a lowering of the order's charges: the same commit and the same outbox as for a
//! lowered line pay it back.

use super::{
    super::{
        documents::OrderDocument,
        store::Decision,
        types::{RefundShippingInput, RefundShippingResult, RefundTooLarge},
    },
    adjust::refunded_of_checkout,
    merchants_op, once,
};
use crate::{domains::carts::quotes::Charges, graphql::prelude::*};

/// Gives back what an order paid for shipping, or a part of it.
pub async fn refund_shipping(
    cx: Cx<'_>,
    input: RefundShippingInput,
) -> Answer<RefundShippingResult> {
    let input = &input.checked()?;
    let op = &merchants_op(cx, "refundShipping", &input.order_id, input)?;
    let amount = input.amount.map(|Long(amount)| amount);
    once(cx, &input.order_id, op, |order, _attempt| Ok(given_back(order, amount)?)).await
}

/// The decision of a refund: of this amount, or of all that is left.
fn given_back(mut order: OrderDocument, amount: Option<i64>) -> Result<Decision, RefundTooLarge> {
    let left = order.charges.as_ref().map_or(0, Charges::shipping_total);
    let amount = amount.unwrap_or(left);
    if left == 0 || amount > left {
        return Err(RefundTooLarge::new(amount, left, order.currency));
    }
    if let Some(charges) = &mut order.charges {
        charges.lower_shipping(amount);
    }
    // The payment of the checkout has paid for it, whoever has paid for pieces that were added.
    let owed = refunded_of_checkout(&mut order, amount);
    Ok(Decision { order, owed, raise: None })
}
