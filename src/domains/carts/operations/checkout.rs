//! The commits and reads of a cart's checkout. The room of orders runs the flow; the cart is its decider.

use mongodb::bson::DateTime;

pub use super::super::store::{claim, complete, for_each, open, pay, reactivate};
use super::super::{
    documents::{CartDocument, CartState, Checkout},
    store::{self, carts},
};
use crate::{app::App, error::Error, flow::Bounds};

/// Whether no write of the attempt behind the checkout can still be applied.
pub fn is_overdue(checkout: &Checkout, now: DateTime, bounds: Bounds) -> bool {
    checkout.deadline < bounds.overdue_before(now)
}

/// Aborts the checkout. Returns whether it is aborted and still has to be undone.
pub async fn abort(app: &App, id: &str, checkout: &Checkout) -> Result<bool, Error> {
    if store::abort(app, id, checkout).after().await?.is_some() {
        return Ok(true);
    }
    // The state had changed: the checkout was paid, aborted, or already undone.
    Ok(open(app, id).await?.1.is_some_and(|cart| {
        cart.state == CartState::Voiding && cart.checkout.is_some_and(|own| own.id == checkout.id)
    }))
}

/// Ids of the carts with an unfinished checkout whose attempt has ended.
pub async fn overdue(app: &App, now: DateTime, limit: i64) -> Result<Vec<String>, Error> {
    let before = app.bounds().overdue_before(now);
    let mut overdue = Vec::new();
    for state in [CartState::Pending, CartState::Voiding, CartState::Paid] {
        let mut last: Option<CartDocument> = None;
        loop {
            let page = store::list_overdue(app, state, before, last.as_ref(), limit).await?;
            overdue.extend(page.iter().map(|cart| cart.id.clone()));
            last = page.into_iter().last();
            if last.is_none() {
                break;
            }
        }
    }
    Ok(overdue)
}

/// Whether the payment belongs to the cart's checkout, which is in progress or complete.
pub async fn has_payment(app: &App, cart: &str, payment: &str) -> Result<bool, Error> {
    let checkout = carts(app).get_settled(cart).await?.and_then(|cart| cart.checkout);
    Ok(checkout.is_some_and(|checkout| checkout.payment_id == payment))
}
