//! Changed prices: which lines of a cart have another price than their product has now, and the mutation that accepts
//! the present prices.

use super::{
    super::{
        MAX_UNIT_PRICE,
        documents::{CartDocument, CartLine},
        store,
        types::{AcceptPricesInput, AcceptPricesResult},
    },
    lines::change,
};
use crate::{
    domains::catalog::operations as catalog, graphql::prelude::*, join::try_join_all,
    mongo::batched,
};

/// A line whose product has another price now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPrice {
    /// SKU of the product.
    pub sku: String,
    /// Price of one piece in the line, in minor units.
    pub unit_price: i64,
    /// Price of one piece now, in minor units.
    pub price_now: i64,
}

/// The present price of a product in this currency, in minor units; `None` if it was deleted, or has a price in another
/// one. The prices of all lines that are read at the same time are one command.
///
/// # Errors
/// The read failed.
pub(in super::super) async fn price_now(
    app: &App,
    sku: &str,
    currency: CurrencyCode,
) -> Result<Option<i64>> {
    let offer = catalog::offer(app, sku).await?;
    let pricing = offer.map(|offer| offer.pricing).filter(|own| own.currency == currency);
    Ok(pricing.map(|own| own.retail))
}

/// The lines of a cart whose products have another price now, in the order of the lines.
///
/// # Errors
/// The read failed.
pub async fn changed_prices(app: &App, cart: &CartDocument) -> Result<Vec<ChangedPrice>> {
    let reads = cart.lines.iter().map(|line| price_now(app, &line.sku, cart.currency));
    let now = batched(try_join_all(reads)).await?;
    let changed = |(line, now): (&CartLine, Option<i64>)| {
        let price_now = now.filter(|now| *now != line.unit_price)?;
        Some(ChangedPrice { sku: line.sku.clone(), unit_price: line.unit_price, price_now })
    };
    Ok(cart.lines.iter().zip(now).filter_map(changed).collect())
}

/// Takes over the present prices of all lines.
pub async fn accept_prices(cx: Cx<'_>, input: AcceptPricesInput) -> Answer<AcceptPricesResult> {
    let input = &input.checked()?;
    let op = &cx.op(&[&input.cart_id, "acceptPrices"], input);
    change(cx, &input.cart_id, op, |call| async move {
        let changed = changed_prices(&cx, &call.cart).await?;
        if changed.iter().any(|line| line.price_now > MAX_UNIT_PRICE) {
            let reason = "a product of the cart costs more than a cart can add up";
            return Err(InvalidInput::new("cartId", reason).into());
        }
        let mut lines = call.cart.lines.clone();
        for line in &mut lines {
            if let Some(new) = changed.iter().find(|new| new.sku == line.sku) {
                line.unit_price = new.price_now;
            }
        }
        // Prices that are as they were are committed as well, so that a later repeat changes nothing.
        Ok(call.commit_change(store::set_prices(&call.cart, &lines)).await?)
    })
    .await
}
