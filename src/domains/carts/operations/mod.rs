//! The business rules of carts.

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
    types::{CartNotActive, OpenCartResult},
};
use crate::{
    app::App,
    error::Error,
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{Conflict, InvalidInput, NotFound, Stop},
        requester::{Requester, Role},
        scalars::CurrencyCode,
    },
    mongo::Version,
};

/// Opens an empty cart. It belongs to the caller if there is a token; otherwise its id is the capability to
/// use it. With an idempotency key the cart's `_id` is derived from it, so a repeat finds the same cart. A repeat
/// doesn't open another cart after that one was closed, since it may be a delayed call.
pub async fn open(
    app: &App,
    requester: &Requester,
    policy: CartPolicy,
    currency: CurrencyCode,
    idempotency_key: Option<&ID>,
) -> Result<CartDocument, Stop<OpenCartResult>> {
    let owner = requester.subject.clone();
    if owner.is_none() && idempotency_key.is_some() {
        // Idempotency keys are scoped by subject. All anonymous callers would share one scope, and so the cart.
        let reason = "takes a signed-in caller; without a token leave it out";
        return Err(InvalidInput::new("idempotencyKey", reason).into());
    }
    let scope = [owner.as_deref().unwrap_or_default(), "openCart"];
    let op = input::op(app, &scope, idempotency_key, &())?;
    let attempt = app.begin().await?;
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
        opened_at: attempt.now(),
        modified_at: attempt.now(),
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
            Err(CartNotActive::opened_before(opened.state).into())
        }
        Some(opened) => Ok(opened),
        None => Err(Error::unavailable("the cart was removed at the same moment").into()),
    }
}

/// Returns the cart if the caller may read it.
pub async fn cart(
    app: &App,
    requester: &Requester,
    id: &str,
) -> Result<Option<CartDocument>, Error> {
    let Ok(id) = input::id(NodeKind::Cart, id) else { return Ok(None) };
    Ok(store::find(app, &id).await?.filter(|cart| may_use(cart, requester)))
}

/// Whether the caller may use the cart. A cart without an owner may be used by anyone who knows its id.
fn may_use(cart: &CartDocument, requester: &Requester) -> bool {
    cart.owner.as_deref().is_none_or(|owner| requester.is(owner)) || requester.has(Role::Service)
}

/// Returns the cart, or `NotFound` if this caller may not use it.
fn visible(
    cart: Option<CartDocument>,
    requester: &Requester,
    id: &str,
) -> Result<CartDocument, NotFound> {
    cart.filter(|cart| may_use(cart, requester)).ok_or_else(|| NotFound::of(NodeKind::Cart, id))
}
