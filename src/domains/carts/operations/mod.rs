//! The rules of the carts.

pub mod checkout;
mod closing;
mod lines;
mod owners;
mod returns;

pub use closing::{cancel, close, expire};
pub use lines::{add_line, remove_line, set_line_quantity};
pub use owners::{claim, my_cart};
pub use returns::{carry_out_outbox, let_go, return_everything};

use async_graphql::ID;

use super::{
    documents::{CartDocument, CartPolicy, CartState},
    store,
    types::OpenCartResult,
};
use crate::{
    app::App,
    error::Error,
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{CartNotActive, Conflict, InvalidInput, NotFound, Stop},
        requester::{Requester, Role},
        scalars::CurrencyCode,
    },
    mongo::Version,
};

/// Opens an empty cart; it belongs to the caller where there is a token, else to whoever knows its
/// id. With an op id the cart's `_id` is made of it, so that a repeat finds the same cart. A repeat
/// opens no other cart once that one is closed: it may be a call that came late.
///
/// # Errors
/// A refusal, or trouble.
pub async fn open(
    app: &App,
    requester: &Requester,
    policy: CartPolicy,
    currency: CurrencyCode,
    op_id: Option<&ID>,
) -> Result<CartDocument, Stop<OpenCartResult>> {
    let owner = requester.subject.clone();
    if owner.is_none() && op_id.is_some() {
        // Op ids are somebody's: an anonymous caller's would be everybody's, and so would the cart.
        let reason = "takes a signed-in caller; without a token leave it out";
        return Err(InvalidInput::new("opId", reason).into());
    }
    let scope = [owner.as_deref().unwrap_or_default(), "openCart"];
    let op = input::op(app, &scope, op_id, &())?;
    let run = app.begin().await?;
    let cart = CartDocument {
        id: op.id,
        owner,
        policy,
        currency,
        state: CartState::Active,
        lines: Vec::new(),
        ops: Vec::new(),
        outbox: Vec::new(),
        checkout: None,
        attempts: 0,
        opened_at: run.now(),
        modified_at: run.now(),
        v: Version,
    };
    if store::insert(app, cart.clone()).await.decided()?.is_some() {
        return Ok(cart);
    }
    // The `_id` is taken: this op was applied before.
    match store::find_settled(app, &cart.id).await? {
        Some(opened) if (opened.policy, opened.currency) != (policy, currency) => {
            Err(Conflict::other_input().into())
        }
        Some(opened) if opened.state.is_closed() => {
            Err(CartNotActive::opened_before(opened.state.name()).into())
        }
        Some(opened) => Ok(opened),
        None => Err(Error::unavailable("the cart was removed at the same moment").into()),
    }
}

/// The cart, where the caller may see it.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn cart(
    app: &App,
    requester: &Requester,
    id: &str,
) -> Result<Option<CartDocument>, Error> {
    let Ok(id) = input::id(NodeKind::Cart, id) else { return Ok(None) };
    Ok(store::find(app, &id).await?.filter(|cart| may_use(cart, requester)))
}

/// A cart without an owner is for whoever knows its id.
fn may_use(cart: &CartDocument, requester: &Requester) -> bool {
    cart.owner.as_deref().is_none_or(|owner| requester.is(owner)) || requester.has(Role::Service)
}

/// The cart, or that there is none for this caller.
fn visible(
    cart: Option<CartDocument>,
    requester: &Requester,
    id: &str,
) -> Result<CartDocument, NotFound> {
    cart.filter(|cart| may_use(cart, requester)).ok_or_else(|| NotFound::of(NodeKind::Cart, id))
}
