//! The commits and reads of a cart's checkout. The room of orders runs the flow; the cart is its decider.

pub use super::super::store::{complete, for_each, freeze, list_overdue, pay, reactivate};
use super::super::{
    documents::{CartDocument, CartState, Checkout},
    store::{self, carts},
};
use crate::{app::App, error::Error, flow::Attempt};

/// Begins an attempt with the cart as its first read.
pub async fn begin_with(app: &App, id: &str) -> Result<(Attempt, Option<CartDocument>), Error> {
    app.begin_with(id).await
}

/// Aborts the checkout. Returns whether it is aborted and still has to be undone.
pub async fn abort(app: &App, id: &str, checkout: &Checkout) -> Result<bool, Error> {
    if store::abort(app, id, checkout).after().await?.is_some() {
        return Ok(true);
    }
    // The state had changed: the checkout was paid, aborted, or already undone.
    Ok(carts(app).get_settled(id).await?.is_some_and(|cart| {
        cart.state == CartState::Voiding && cart.checkout.is_some_and(|own| own.id == checkout.id)
    }))
}

/// Whether the payment belongs to the cart's checkout, which is in progress or complete.
pub async fn has_payment(app: &App, cart: &str, payment: &str) -> Result<bool, Error> {
    let checkout = carts(app).get_settled(cart).await?.and_then(|cart| cart.checkout);
    Ok(checkout.is_some_and(|checkout| checkout.payment_id == payment))
}
