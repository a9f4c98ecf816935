//! Ownership of carts: finding the caller's own cart, and claiming one that has no owner.

use super::super::{
    documents::{CartDocument, CartState},
    store,
    types::{CartNotActive, ClaimCartInput, ClaimCartResult},
};
use crate::{
    error::Error,
    flow::{Attempt, Step, decide},
    graphql::{
        cx::Cx,
        declared::Input,
        node_id::NodeKind,
        refusals::{NotFound, Stop},
    },
};

/// Returns the most recently changed active cart of the caller.
///
/// # Errors
/// The caller has no token, or the read failed.
pub async fn my_cart(cx: Cx<'_>) -> Result<Option<CartDocument>, Error> {
    store::find_active_of(&cx, cx.requester.subject()?).await
}

/// Makes the caller the owner of an active cart without one. A repeat is safe without an idempotency key: a
/// cart that already belongs to the caller is returned as it is.
pub async fn claim_cart(
    cx: Cx<'_>,
    input: ClaimCartInput,
) -> Result<CartDocument, Stop<ClaimCartResult>> {
    let (owner, input) = (cx.requester.subject()?, input.checked()?);
    let id = &input.cart_id;
    let read = || async { Ok(store::open(&cx, id).await?) };
    decide(read, |attempt: Attempt, cart: Option<CartDocument>| async move {
        let cart = cart.ok_or_else(|| NotFound::of(NodeKind::Cart, id))?;
        match cart.owner.as_deref() {
            Some(own) if own == owner => Ok(Step::Done(cart)),
            // No role allows a caller to take a cart from its owner.
            Some(_) => Err(NotFound::of(NodeKind::Cart, id).into()),
            None if cart.state != CartState::Active => Err(CartNotActive::new(cart.state).into()),
            None => {
                let claimed = store::mark_owned(&cx, id, owner, &attempt).await.decided()?;
                Ok(Step::or_again(claimed))
            }
        }
    })
    .await
}
