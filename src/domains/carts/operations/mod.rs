//! The business rules of carts.

pub mod checkout;
mod closing;
mod lines;
mod prices;
mod row;
mod voucher;

pub use closing::{cancel_cart, carry_out_outbox, close, expire, release_after_checkout};
pub use lines::{add_cart_line, remove_cart_line, set_cart_line_quantity};
pub(super) use prices::price_now;
pub use prices::{ChangedPrice, accept_prices, changed_prices};
pub use row::{LineChange, LineInput, change_lines};
pub use voucher::{apply_voucher, remove_voucher};

pub use super::{
    addresses::operations::{my_addresses, remove_address, save_address},
    vouchers::operations::{create_voucher, end_voucher, voucher},
};
use super::{
    documents::{CartDocument, CartState},
    store::{self, carts},
    types::{CartNotActive, ClaimCartInput, ClaimCartResult, OpenCartInput, OpenCartResult},
};
use crate::{
    error::Error,
    flow::{Attempt, Step, decide},
    graphql::{
        cx::Cx,
        declared::Input,
        input,
        node_id::NodeKind,
        refusals::{Conflict, InvalidInput, NotFound, Stop},
        requester::{Requester, Role},
    },
    mongo::Version,
};

/// What a mutation of a cart returns.
type Changed<U> = Result<CartDocument, Stop<U>>;

/// Opens an empty cart. It belongs to the caller if there is a token; otherwise its id is the capability to
/// use it. With an idempotency key the cart's `_id` is derived from it, so a repeat finds the same cart. A
/// repeat doesn't open another cart after that one was closed, since it may be a delayed call.
pub async fn open_cart(cx: Cx<'_>, input: OpenCartInput) -> Changed<OpenCartResult> {
    let input = input.checked()?;
    let owner = cx.requester.subject.clone();
    if owner.is_none() && input.idempotency_key.is_some() {
        // Idempotency keys are scoped by subject. All anonymous callers would share one scope, and so the cart.
        let reason = "takes a signed-in caller; without a token leave it out";
        return Err(InvalidInput::new("idempotencyKey", reason).into());
    }
    let scope = [owner.as_deref().unwrap_or_default(), "openCart"];
    let op = cx.op(&scope, input.idempotency_key.as_ref(), &());
    let attempt = cx.begin().await?;
    let cart = CartDocument {
        id: op.id,
        owner,
        policy: input.policy,
        currency: input.currency,
        state: CartState::Active,
        lines: Vec::new(),
        ops: Vec::new(),
        outbox: Vec::new(),
        voucher: None,
        checkout: None,
        checkouts: 0,
        opened_at: attempt.now(),
        modified_at: attempt.now(),
        v: Version,
    };
    if carts(&cx).insert(cart.clone()).await.decided()?.is_some() {
        return Ok(cart);
    }
    // The `_id` is taken: this op was applied before.
    match carts(&cx).get_settled(&cart.id).await? {
        Some(opened) if (opened.policy, opened.currency) != (input.policy, input.currency) => {
            Err(Conflict::other_input().into())
        }
        Some(opened) if !opened.state.may_become_active() => {
            let state = opened.state;
            let message = format!(
                "the cart that this idempotency key opened is {state}; open another one with a new key"
            );
            Err(CartNotActive::because(message, state).into())
        }
        Some(opened) => Ok(opened),
        None => Err(Error::unavailable("the cart was removed at the same time").into()),
    }
}

/// Returns the cart if the caller may read it.
pub async fn cart(cx: Cx<'_>, id: &str) -> Result<Option<CartDocument>, Error> {
    let Ok(id) = input::id(NodeKind::CART, id) else { return Ok(None) };
    Ok(carts(&cx).get(&id).await?.filter(|cart| may_use(cart, cx.requester)))
}

/// The most recently changed active cart of the caller.
pub async fn my_cart(cx: Cx<'_>) -> Result<Option<CartDocument>, Error> {
    store::find_active_of(&cx, cx.requester.subject()?).await
}

/// Makes the caller the owner of an active cart without one. A repeat is safe without an idempotency key: a
/// cart that already belongs to the caller is returned as it is.
pub async fn claim_cart(cx: Cx<'_>, input: ClaimCartInput) -> Changed<ClaimCartResult> {
    let (owner, input) = (cx.requester.subject()?, input.checked()?);
    let id = &input.cart_id;
    let read = || async { Ok(cx.begin_with(id).await?) };
    decide(read, |attempt: Attempt, cart: Option<CartDocument>| async move {
        let cart = cart.ok_or_else(|| NotFound::of(NodeKind::CART, id))?;
        match cart.owner.as_deref() {
            Some(own) if own == owner => Ok(Step::Done(cart)),
            // No role allows a caller to take a cart from its owner.
            Some(_) => Err(NotFound::of(NodeKind::CART, id).into()),
            None if cart.state != CartState::Active => Err(CartNotActive::new(cart.state).into()),
            None => Ok(Step::or_again(store::own(&cx, id, owner).within(&attempt).after().await?)),
        }
    })
    .await
}

/// Whether the caller may use the cart. A cart without an owner may be used by anyone who knows its id.
fn may_use(cart: &CartDocument, requester: &Requester) -> bool {
    cart.owner.as_deref().is_none_or(|owner| requester.is(owner)) || requester.has(Role::Service)
}

/// Begins an attempt with the cart as its first read. `NotFound` if this caller may not use it.
async fn begin<U: From<NotFound>>(
    cx: Cx<'_>,
    id: &str,
) -> Result<(Attempt, CartDocument), Stop<U>> {
    let (attempt, cart) = cx.begin_with(id).await?;
    let cart = cart.filter(|cart| may_use(cart, cx.requester));
    Ok((attempt, cart.ok_or_else(|| NotFound::of(NodeKind::CART, id))?))
}
