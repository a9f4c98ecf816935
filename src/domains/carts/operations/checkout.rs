//! The commits and reads of a cart's checkout. The room of orders runs the flow; the cart is its decider.

pub use super::super::store::{
    complete, for_each, freeze, list_decided, list_overdue, pay, reactivate,
};
use super::super::{
    documents::{CartDocument, CartState, Checkout},
    store::{self, carts},
};
use crate::{
    app::App,
    error::Error,
    flow::{Attempt, Bounds, Try},
};

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

/// Whether the cart's checkout, decided under this tag, is in progress or complete.
pub async fn has_decided(app: &App, cart: &str, tag: &str) -> Result<bool, Error> {
    let checkout = carts(app).get_settled(cart).await?.and_then(|cart| cart.checkout);
    Ok(checkout.is_some_and(|checkout| checkout.tag.as_deref() == Some(tag)))
}

/// Limits of the cart's op records.
pub fn bounds(app: &App) -> Bounds {
    store::bounds(app)
}

/// Decides a checkout without a claim, for which everything was reserved under the tag. Returns the cart, or `None` if
/// it was refused.
///
/// # Errors
/// The outcome is unknown. The sweep, or a repeat of the call, finds out.
pub async fn decide_now(
    Try { op, tag, attempt, bounds }: Try<'_>,
    app: &App,
    cart: &CartDocument,
    checkout: &Checkout,
) -> Result<Option<CartDocument>, Error> {
    let decision = store::decide(cart, checkout).committing(op, tag, bounds);
    carts(app).change(decision).within(attempt).then_read().await
}

/// Aborts the tag of a checkout without a claim, so that it can't decide any more. Returns `false` if it has decided.
///
/// # Errors
/// The outcome is unknown.
pub async fn abort_tag(app: &App, id: &str, tag: &str) -> Result<bool, Error> {
    carts(app).abort(id, tag, store::bounds(app)).await
}
