//! Ownership of carts: finding the caller's own cart, and claiming one that has no owner.

use async_graphql::ID;

use super::super::{
    documents::{CartDocument, CartState},
    store,
    types::{CartNotActive, ClaimCartResult},
};
use crate::{
    app::App,
    error::Error,
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{NotFound, Stop},
        requester::Requester,
    },
};

/// Returns the most recently changed active cart of the caller.
///
/// # Errors
/// The caller has no token, or the read failed.
pub async fn my_cart(app: &App, requester: &Requester) -> Result<Option<CartDocument>, Error> {
    store::find_active_of(app, requester.subject()?).await
}

/// Makes the caller the owner of an active cart without one. A repeat is safe without an idempotency key: a cart that
/// already belongs to the caller is returned as it is.
pub async fn claim(
    app: &App,
    requester: &Requester,
    cart_id: &ID,
) -> Result<CartDocument, Stop<ClaimCartResult>> {
    let owner = requester.subject()?;
    let id = &input::id(NodeKind::Cart, cart_id)?;
    let (attempt, mut read) = store::open(app, id).await?;
    loop {
        let cart = read.ok_or_else(|| NotFound::of(NodeKind::Cart, id))?;
        match cart.owner.as_deref() {
            Some(own) if own == owner => return Ok(cart),
            // No role allows a caller to take a cart from its owner.
            Some(_) => return Err(NotFound::of(NodeKind::Cart, id).into()),
            None if cart.state != CartState::Active => {
                return Err(CartNotActive::new(cart.state).into());
            }
            None => {}
        }
        if let Some(owned) = store::mark_owned(app, id, owner, &attempt).await.decided()? {
            return Ok(owned);
        }
        if attempt.is_over() {
            return Err(attempt.overdue().into());
        }
        read = store::find_settled(app, id).await?;
    }
}
