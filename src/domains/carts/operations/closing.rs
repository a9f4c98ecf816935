//! The end of carts without a checkout: a cart is cancelled by its shopper, or expires. Return of reserved stock
//! to the shelf.

use super::{
    super::{
        documents::{CartDocument, CartState},
        store::{self, carts},
        types::{CancelCartInput, CancelCartResult, CartNotActive},
    },
    Changed, begin,
};
use crate::{
    app::App,
    domains::inventory::operations::{self as inventory, Destination, Holder},
    error::Error,
    flow::{Attempt, Step, decide},
    graphql::{cx::Cx, declared::Input},
};

/// Maximum number of times that a closed cart's reservations are read again because they changed.
const ROUNDS: usize = 10;

/// Cancels the cart and returns the stock that it holds. A repeat is safe without an idempotency key.
pub async fn cancel_cart(cx: Cx<'_>, input: CancelCartInput) -> Changed<CancelCartResult> {
    let input = input.checked()?;
    let read = || begin(cx, &input.cart_id);
    decide(read, |attempt: Attempt, cart: CartDocument| async move {
        let cart = match cart.state {
            CartState::Active => store::cancel(&cx, &cart).within(&attempt).after().await?,
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
pub async fn expire(app: &App, id: &str) -> Result<bool, Error> {
    // The attempt begins before the guarded write, whose reply has the outbox.
    let attempt = app.begin().await?;
    let expired = store::expire(app, id).within(&attempt).after().await?;
    if let Some(cart) = &expired {
        close(app, cart, &attempt).await?;
    }
    Ok(expired.is_some())
}

/// Finishes the closing of a cart that is CANCELLING or EXPIRING and was read within `attempt`. Nothing is
/// committed on it any more, so its outbox is complete. The outbox is applied first; what an entry holds
/// afterwards is then exactly what has to be returned.
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
    return_everything(app, cart).await?;
    if let Some(closed) = store::end(app, cart, end).after().await? {
        return Ok(closed);
    }
    // Another attempt closed it first.
    let closed = carts(app).get_settled(&cart.id).await?.filter(|now| now.state == end);
    closed.ok_or_else(|| Error::unavailable("the cart was closed by another call at the same time"))
}

/// Applies and settles every outbox entry of the cart, which must have been read within `attempt`. An apply
/// may be repeated only within the length of one attempt after the entry was read.
pub async fn carry_out_outbox(
    app: &App,
    cart: &CartDocument,
    attempt: &Attempt,
) -> Result<(), Error> {
    for due in &cart.outbox {
        let holder = Holder { app, name: &cart.id, tag: &due.tag, attempt };
        holder.apply(&due.sku, due.quantity, Destination::Available).await?;
        // A refusal means that another attempt settled it.
        store::settle(app, &cart.id, &due.tag).held().await?;
    }
    Ok(())
}

/// Removes the stock entries of a cart that is checked out. All of its lines were sold, so usually the
/// entries are empty and are dropped. If an entry holds more, the rest is returned.
pub async fn release_after_checkout(
    app: &App,
    cart: &CartDocument,
    attempt: &Attempt,
) -> Result<(), Error> {
    let skus: Vec<&str> = cart.lines.iter().map(|line| line.sku.as_str()).collect();
    if inventory::forget_each(app, &skus, &cart.id, attempt).await? {
        return Ok(());
    }
    return_everything(app, cart).await
}

/// Returns everything that a cart still holds. Its state must forbid further commits, and its outbox must be
/// empty. Each entry is returned as it was read, so that a late command of this attempt can't change what
/// came after it. A reserve of a SKU that is in neither lines nor outbox was never committed; the sweep returns it.
async fn return_everything(app: &App, cart: &CartDocument) -> Result<(), Error> {
    let skus = cart.skus();
    for _ in 0..ROUNDS {
        let mut entries = inventory::reservations_of(app, &cart.id, &skus).await?;
        entries.retain(|(_, entry)| entry.is_in_use());
        if entries.is_empty() {
            return Ok(());
        }
        for (sku, entry) in &entries {
            inventory::return_surplus(app, sku, entry, entry.quantity).await?;
        }
    }
    Err(Error::unavailable("the reservations of the closed cart keep changing"))
}
