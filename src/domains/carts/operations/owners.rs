//! Whose a cart is: finding one's own, and taking over one that has no owner.

use async_graphql::ID;

use super::super::{
    documents::{CartDocument, CartState},
    store,
    types::ClaimCartResult,
};
use crate::{
    app::App,
    error::Error,
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{CartNotActive, NotFound, Stop},
        requester::Requester,
    },
};

/// Of the caller's active carts the one that changed last.
///
/// # Errors
/// Not signed in, `Unavailable` or `Internal`.
pub async fn my_cart(app: &App, requester: &Requester) -> Result<Option<CartDocument>, Error> {
    store::find_active_of(app, requester.subject()?).await
}

/// Makes the caller the owner of an active cart without one. Repeatable as it is: a cart that is the
/// caller's already is answered as it stands.
///
/// # Errors
/// A refusal, or trouble.
pub async fn claim(
    app: &App,
    requester: &Requester,
    cart_id: &ID,
) -> Result<CartDocument, Stop<ClaimCartResult>> {
    let owner = requester.subject()?;
    let id = &input::id(NodeKind::Cart, cart_id)?;
    let (run, mut read) = store::open(app, id).await?;
    loop {
        let cart = read.ok_or_else(|| NotFound::of(NodeKind::Cart, id))?;
        match cart.owner.as_deref() {
            Some(own) if own == owner => return Ok(cart),
            // Nobody takes a cart from its owner, whatever their role.
            Some(_) => return Err(NotFound::of(NodeKind::Cart, id).into()),
            None if cart.state != CartState::Active => {
                return Err(CartNotActive::new(cart.state.name()).into());
            }
            None => {}
        }
        if let Some(owned) = store::mark_owned(app, id, owner, &run).await.decided()? {
            return Ok(owned);
        }
        if run.is_over() {
            return Err(run.overdue().into());
        }
        read = store::find_settled(app, id).await?;
    }
}
