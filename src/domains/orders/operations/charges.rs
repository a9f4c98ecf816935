//! Shipping and tax at the checkout, and the charges of an order.

use super::{
    super::{
        documents::{OrderDocument, OrderLine},
        types::CheckoutCartResult,
    },
    checkout::SaleOfCart,
};
use crate::{
    domains::{
        carts::{
            Address, CartDocument,
            quotes::{
                Charges, Discounted, MAX_AMOUNT, QuoteFault, QuoteNeeded, operations as quotes,
            },
        },
        checkout::Run,
    },
    graphql::prelude::*,
};

/// Refuses a checkout whose cart has no quote that can be charged for this address, if the shop has shipping methods.
pub(super) fn check_quote(
    app: &App,
    cart: &CartDocument,
    to: &Address,
) -> Result<(), Stop<CheckoutCartResult>> {
    match quotes::fault(app, cart, to) {
        Some(fault) => Err(QuoteNeeded::new(fault).into()),
        None => Ok(()),
    }
}

/// Refuses a checkout whose cart has a quote that has to be computed again.
pub(super) fn check_age(
    app: &App,
    cart: &CartDocument,
    attempt: &Attempt,
) -> Result<(), Stop<CheckoutCartResult>> {
    if quotes::is_stale(app, cart, attempt.now()) {
        return Err(QuoteNeeded::new(QuoteFault::Outdated).into());
    }
    Ok(())
}

/// What is part of the tag beside lines and voucher: another quote has another amount.
pub(super) fn part_of_tag(cart: &CartDocument) -> Option<String> {
    cart.current_quote().map(|quote| format!("quote {}", quote.id))
}

/// Lowers the tax on the goods as a line is lowered to `to` pieces. `discount` is that of the order before. Returns by how much
/// the total is lowered: not at all if prices include the tax. Shipping and its tax stay.
pub(super) fn lower(
    order: &mut OrderDocument,
    line: &OrderLine,
    to: i64,
    discount: Discounted,
) -> i64 {
    let OrderLine { sku, quantity, unit_price, .. } = line;
    let (price, by) = (quantity * unit_price, (quantity - to) * unit_price);
    order.charges.as_mut().map_or(0, |charges| charges.lower(sku, price, by, discount))
}

/// What pieces of this price cost that are added to a line of the order: the price, and the tax unless prices include it.
///
/// # Errors
/// The tax isn't known, or the order would cost more than it can add up.
pub(super) fn cost(order: &OrderDocument, sku: &str, price: i64) -> Result<i64, InvalidInput> {
    let Some(charges) = &order.charges else { return Ok(price) };
    let Some(tax) = charges.tax_on(sku, price) else {
        let reason = "no piece can be added to this line, because the tax on it isn't known";
        return Err(InvalidInput::new("quantity", reason));
    };
    let cost = price.checked_add(charges.added(tax));
    let total = cost.and_then(|cost| order.total.checked_add(cost));
    if total.is_none_or(|total| total > MAX_AMOUNT) {
        let reason = "the order would cost more than it can add up";
        return Err(InvalidInput::new("quantity", reason));
    }
    Ok(cost.unwrap_or(price))
}

/// Adds pieces of this price and their tax to a line. `cost` is what was paid for them.
pub(super) fn add(order: &mut OrderDocument, sku: &str, price: i64, cost: i64) {
    if let Some(charges) = &mut order.charges {
        let included = || charges.tax_on(sku, price).unwrap_or(0);
        let tax = if charges.tax_included { included() } else { cost - price };
        charges.add(sku, price, tax);
    }
}

impl Run<'_, SaleOfCart> {
    /// The charges of the order that the checkout places: those of the quote that its total has. Without one they are the tax
    /// that the prices include.
    pub(super) fn charges(self) -> Option<Charges> {
        let Some(own) = self.checkout.quote.as_ref() else {
            return quotes::included(self.app, self.basket, &self.checkout.shipping.country);
        };
        let quote = self.basket.quote.as_ref()?;
        (quote.id == *own).then(|| quote.charges.clone())
    }
}
