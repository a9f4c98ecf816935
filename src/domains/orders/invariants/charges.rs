//! The invariant of the charges of an order.

use crate::domains::orders::documents::OrderDocument;

/// The rule.
pub(super) const RULE: &str = "orders: no tax is below zero or more than what is taxed, and no more of shipping is given \
                               back than was refunded";

/// What can't be in the charges of an order.
pub(super) fn fault(order: &OrderDocument) -> Option<String> {
    let charges = order.charges.as_ref()?;
    let price_of = |sku: &str| {
        let line = order.lines.iter().find(|line| line.sku == sku);
        line.map_or(0, |line| line.quantity * line.unit_price)
    };
    let refunded: i64 = order.payments.iter().map(|payment| payment.refunded).sum();
    let is_too_much = charges.shipping_refunded.is_some_and(|given_back| given_back > refunded);
    (is_too_much || charges.is_impossible(price_of, order.discounted())).then(|| {
        format!("order {}: {refunded} was refunded, and its charges are {charges:?}", order.id)
    })
}
