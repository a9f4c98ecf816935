//! Closing of carts without a checkout: a cart is cancelled by its shopper, or expires.

use super::{
    super::{
        documents::{CartDocument, CartState},
        store,
        types::{CancelCartInput, CancelCartResult, CartNotActive},
    },
    carry_out_outbox, open, return_everything,
};
use crate::{
    app::App,
    error::Error,
    flow::{Attempt, Step, decide},
    graphql::{cx::Cx, declared::Input, refusals::Stop},
};

/// Cancels the cart and returns the stock that it holds. A repeat is safe without an idempotency key.
pub async fn cancel_cart(
    cx: Cx<'_>,
    input: CancelCartInput,
) -> Result<CartDocument, Stop<CancelCartResult>> {
    let input = input.checked()?;
    let read = || open(cx, &input.cart_id);
    decide(read, |attempt: Attempt, cart: CartDocument| async move {
        let cart = match cart.state {
            CartState::Active => store::mark_cancelling(&cx, &cart, &attempt).await.decided()?,
            CartState::Cancelling => Some(cart),
            CartState::Cancelled => return Ok(Step::Done(cart)),
            other => return Err(CartNotActive::new(other).into()),
        };
        let Some(cart) = cart else { return Ok(Step::Again) };
        Ok(Step::Done(close(&cx, &cart, &attempt).await?))
    })
    .await
}

/// Expires the cart if it is still idle, and returns the stock that it holds. Returns whether it was idle.
///
/// # Errors
/// The outcome is unknown. The sweep finishes a closing that was begun.
pub async fn expire(app: &App, id: &str) -> Result<bool, Error> {
    // The attempt begins before the guarded write, whose reply has the outbox.
    let attempt = app.begin().await?;
    let idle = app.config().cart_idle_seconds.saturating_mul(1000);
    let idle_millis = i64::try_from(idle).unwrap_or(i64::MAX);
    match store::mark_expiring(app, id, idle_millis, &attempt).await.decided()? {
        Some(cart) => close(app, &cart, &attempt).await.map(|_| true),
        None => Ok(false),
    }
}

/// Finishes the closing of a cart that is CANCELLING or EXPIRING. Nothing is committed on it any more, so its
/// outbox is complete. The outbox is applied first; what an entry holds afterwards is then exactly what has
/// to be returned. `cart` was read within `attempt`.
///
/// # Errors
/// The outcome is unknown, or the attempt is over. Repeat the call.
pub async fn close(
    app: &App,
    cart: &CartDocument,
    attempt: &Attempt,
) -> Result<CartDocument, Error> {
    let end = match cart.state {
        CartState::Cancelling => CartState::Cancelled,
        CartState::Expiring => CartState::Expired,
        _ => return Err(Error::internal("a cart that isn't being closed")),
    };
    carry_out_outbox(app, cart, attempt).await?;
    return_everything(app, &cart.id).await?;
    match store::mark_closed(app, &cart.id, cart.state, end).await.decided()? {
        Some(closed) => Ok(closed),
        // Another attempt closed it first.
        None => store::find_settled(app, &cart.id)
            .await?
            .filter(|now| now.state == end)
            .ok_or_else(|| Error::unavailable("the cart was closed by another at the same moment")),
    }
}
