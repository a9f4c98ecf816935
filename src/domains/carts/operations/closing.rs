//! Carts that end without a checkout: given up by the shopper, or idle for too long.

use async_graphql::ID;

use super::{
    super::{
        documents::{CartDocument, CartState},
        store,
        types::CancelCartResult,
    },
    carry_out_outbox, return_everything, visible,
};
use crate::{
    app::App,
    error::Error,
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{CartNotActive, Stop},
        requester::Requester,
    },
    mongo::Run,
};

/// Gives the cart up and returns what it holds. Repeatable as it is.
///
/// # Errors
/// A refusal, or trouble.
pub async fn cancel(
    app: &App,
    requester: &Requester,
    cart_id: &ID,
) -> Result<CartDocument, Stop<CancelCartResult>> {
    let id = &input::id(NodeKind::Cart, cart_id)?;
    let (run, cart) = store::open(app, id).await?;
    let mut cart = visible(cart, requester, id)?;
    while cart.state == CartState::Active {
        if let Some(marked) = store::mark_cancelling(app, &cart, &run).await.decided()? {
            cart = marked;
        } else if run.is_over() {
            return Err(run.overdue().into());
        } else {
            cart = visible(store::find_settled(app, id).await?, requester, id)?;
        }
    }
    match cart.state {
        CartState::Cancelling => Ok(close(app, &cart, &run).await?),
        CartState::Cancelled => Ok(cart),
        other => Err(CartNotActive::new(other.name()).into()),
    }
}

/// Lets the cart expire, where it is still idle, and returns what it holds; says whether it was.
///
/// # Errors
/// The outcome is unknown: what was begun is finished as a closing that was left over.
pub async fn expire(app: &App, id: &str) -> Result<bool, Error> {
    // The run begins before the outbox is read, which the guarded write answers with.
    let run = app.begin().await?;
    let idle = app.config().cart_idle_seconds.saturating_mul(1000);
    let idle_millis = i64::try_from(idle).unwrap_or(i64::MAX);
    match store::mark_expiring(app, id, idle_millis, &run).await.decided()? {
        Some(cart) => close(app, &cart, &run).await.map(|_| true),
        None => Ok(false),
    }
}

/// Drives a cart that is CANCELLING or EXPIRING to its end. Nothing is decided on it any more, so
/// its outbox is complete; it is carried out first, for what is returned afterwards is then exactly
/// what the entry still has. `cart` was read within `run`.
///
/// # Errors
/// The outcome is unknown, or the run is over: it is repeated.
pub async fn close(app: &App, cart: &CartDocument, run: &Run) -> Result<CartDocument, Error> {
    let end = match cart.state {
        CartState::Cancelling => CartState::Cancelled,
        CartState::Expiring => CartState::Expired,
        _ => return Err(Error::internal("a cart that isn't being closed")),
    };
    carry_out_outbox(app, cart, run).await?;
    return_everything(app, &cart.id).await?;
    match store::mark_closed(app, &cart.id, cart.state, end).await.decided()? {
        Some(closed) => Ok(closed),
        // Someone else closed it first.
        None => store::find_settled(app, &cart.id)
            .await?
            .filter(|now| now.state == end)
            .ok_or_else(|| Error::unavailable("the cart was closed by another at the same moment")),
    }
}
