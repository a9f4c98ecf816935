//! The check of prices and the step of the voucher at the checkout, and the discount of an order.

use super::{
    super::{
        documents::{OrderDiscount, OrderDocument},
        types::{CheckoutCartResult, PricesChanged},
    },
    checkout::SaleOfCart,
};
use crate::{
    config::ChangedPrices,
    domains::{
        carts::{self, CartDocument, vouchers::operations::VoucherStep},
        checkout::Run,
    },
    graphql::prelude::*,
};

/// Refuses a checkout of a cart with changed prices, if so configured. The prices are compared as they are now; the lines'
/// own are charged in any case.
pub(super) async fn check_prices(
    app: &App,
    cart: &CartDocument,
) -> Result<(), Stop<CheckoutCartResult>> {
    if app.config().checkout_changed_prices == ChangedPrices::Charge {
        return Ok(());
    }
    let changed = carts::operations::changed_prices(app, cart).await?;
    if changed.is_empty() {
        return Ok(());
    }
    Err(PricesChanged::new(changed, cart.currency).into())
}

/// What is part of the tag beside the lines: another voucher needs another reservation and another amount, and one with a
/// limit per customer another one for each customer.
pub(super) fn part_of_tag(cart: &CartDocument, caller: Option<&str>) -> Option<String> {
    let voucher = cart.voucher.as_ref()?;
    let customer = caller.filter(|_| voucher.per_customer.is_some()).unwrap_or_default();
    Some(format!("voucher {} {customer}", voucher.code))
}

/// Lowers the goods of an order by this sum, and the discount with them. Returns by how much the total is lowered.
pub(super) fn lower(order: &mut OrderDocument, by: i64) -> i64 {
    let mut left = order.discounted();
    left.lower(by);
    let before = order.taken_off();
    if let Some(discount) = &mut order.discount {
        (discount.amount, discount.goods) = (left.amount, left.goods);
    }
    by - (before - order.taken_off())
}

impl Run<'_, SaleOfCart> {
    fn voucher_step(&self) -> Option<VoucherStep<'_>> {
        let hold = self.checkout.voucher.as_ref()?;
        Some(VoucherStep { app: self.app, hold, tag: self.terms.reserves_under() })
    }

    /// Reserves the discount. `Some` is the reason why the checkout has to be aborted.
    pub(super) async fn reserve_voucher(self) -> Result<Option<Stop<CheckoutCartResult>>> {
        let Some(step) = self.voucher_step() else { return Ok(None) };
        match step.reserve(&self.basket.id, self.attempt).await {
            // It is certain that nothing is reserved, so the checkout is undone at once.
            Err(error @ Error::RateLimited(_)) => Ok(Some(Stop::Failed(error))),
            reserved => Ok(reserved?.map(Stop::from)),
        }
    }

    /// Releases the discount, after the checkout was aborted.
    pub(super) async fn release_voucher(self) -> Result<()> {
        match self.voucher_step() {
            Some(step) => step.release().await,
            None => Ok(()),
        }
    }

    /// Spends the discount, after the checkout has decided.
    pub(super) async fn spend_voucher(self) -> Result<()> {
        match self.voucher_step() {
            Some(step) => step.spend(self.attempt).await,
            None => Ok(()),
        }
    }

    /// The discount of the order that the checkout places.
    pub(super) fn discount(self) -> Option<OrderDiscount> {
        let hold = self.checkout.voucher.clone()?;
        Some(OrderDiscount { amount: hold.amount, goods: carts::total(&self.basket.lines), hold })
    }
}
