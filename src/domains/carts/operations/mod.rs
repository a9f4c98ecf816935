//! The business rules of carts. Opening, cancelling and the sweep of idle carts are those of all
//! [baskets](crate::domains::baskets).

mod holding;
mod lines;
mod prices;
mod row;
mod voucher;

pub use super::store::for_each;
pub use holding::release_after_checkout;
pub(super) use lines::change;
pub use lines::{add_cart_line, remove_cart_line, set_cart_line_quantity};
pub(super) use prices::price_now;
pub use prices::{ChangedPrice, accept_prices, changed_prices};
pub use row::{LineChange, LineInput, change_lines};
pub use voucher::{apply_voucher, remove_voucher};

pub use super::{
    addresses::operations::{my_addresses, remove_address, save_address},
    quotes::operations::{remove_shipping_method, set_shipping_method, shipping_methods},
    vouchers::operations::{create_voucher, end_voucher, list_vouchers, voucher},
};
use super::{
    documents::{CartDocument, CartState},
    store::{self, carts},
    types::{
        CancelCartInput, CancelCartResult, CartNotActive, ClaimCartInput, ClaimCartResult,
        OpenCartInput, OpenCartResult,
    },
};
use crate::{
    domains::baskets::{self, may_use},
    graphql::prelude::*,
    mongo::Version,
};

/// Opens an empty cart.
pub async fn open_cart(cx: Cx<'_>, input: OpenCartInput) -> Answer<OpenCartResult> {
    let input = input.checked()?;
    let make = |id, owner, now| CartDocument {
        id,
        owner,
        policy: input.policy,
        currency: input.currency,
        state: CartState::Active,
        lines: Vec::new(),
        ops: Vec::new(),
        outbox: Vec::new(),
        voucher: None,
        quote: None,
        checkout: None,
        checkouts: 0,
        opened_at: now,
        modified_at: now,
        v: Version,
    };
    let is_same =
        |opened: &CartDocument| (opened.policy, opened.currency) == (input.policy, input.currency);
    baskets::open(cx, "openCart", input.idempotency_key.as_ref(), make, is_same).await
}

/// Cancels the cart and returns the stock that it holds.
pub async fn cancel_cart(cx: Cx<'_>, input: CancelCartInput) -> Answer<CancelCartResult> {
    baskets::cancel(cx, &input.checked()?.cart_id).await
}

/// Returns the cart if the caller may read it.
pub async fn cart(cx: Cx<'_>, id: &str) -> Result<Option<CartDocument>> {
    let Ok(id) = input::id(NodeKind::CART, id) else { return Ok(None) };
    Ok(carts(&cx).get(&id).await?.filter(|cart| may_use(cart, cx.requester)))
}

/// The most recently changed active cart of the caller.
pub async fn my_cart(cx: Cx<'_>) -> Result<Option<CartDocument>> {
    baskets::find_active_of(&cx, cx.requester.subject()?).await
}

/// Makes the caller the owner of an active cart without one. A repeat is safe without an idempotency key: a
/// cart that already belongs to the caller is returned as it is.
pub async fn claim_cart(cx: Cx<'_>, input: ClaimCartInput) -> Answer<ClaimCartResult> {
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

/// Makes the guest the owner of a cart that was checked out without signing in, for an erasure. It may be repeated. Returns
/// `false` if the checkout still goes on, or if somebody else has become the owner.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn name_guest(app: &App, id: &str, guest: &str) -> Result<bool> {
    store::name_guest(app, id, guest).held().await
}
