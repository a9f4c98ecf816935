//! The commits and reads of a cart's checkout. The room of orders runs the flow; the cart is its decider.

use mongodb::bson::DateTime;

use super::super::{
    documents::{CartDocument, CartLine, CartState, Checkout},
    store::{self, checkout},
};
use crate::{
    app::App,
    error::Error,
    flow::{Attempt, Bounds},
};

/// Sum of the lines in minor units. It can't overflow: the limits in the room's `mod.rs` exclude it.
pub fn total(lines: &[CartLine]) -> i64 {
    lines.iter().map(|line| line.quantity * line.unit_price).sum()
}

/// Whether no write of the attempt behind the checkout can still be applied.
pub fn is_overdue(checkout: &Checkout, now: DateTime, bounds: Bounds) -> bool {
    checkout.deadline < bounds.overdue_before(now)
}

/// Begins an attempt with the cart as its first read.
pub async fn open(app: &App, id: &str) -> Result<(Attempt, Option<CartDocument>), Error> {
    store::open(app, id).await
}

/// Begins a checkout and freezes the lines. Returns `None` if the cart isn't as it was read: it can't be
/// checked out, another checkout was faster, or stock is still to be returned.
pub async fn claim(
    app: &App,
    cart: &CartDocument,
    checkout: &Checkout,
    attempt: &Attempt,
) -> Result<Option<CartDocument>, Error> {
    checkout::claim(app, cart, checkout, attempt).await.decided()
}

/// Commits the checkout. From here it only goes forward, and the cart belongs to the checkout's owner.
/// Returns `None` if the checkout was aborted before.
pub async fn pay(app: &App, id: &str, checkout: &Checkout) -> Result<Option<CartDocument>, Error> {
    checkout::mark_paid(app, id, checkout).await.decided()
}

/// Aborts the checkout. Returns whether it is aborted and still has to be undone.
pub async fn give_up(app: &App, id: &str, checkout: &str) -> Result<bool, Error> {
    if checkout::mark_voiding(app, id, checkout).await.decided()?.is_some() {
        return Ok(true);
    }
    // The state had changed: the checkout was paid, aborted, or already undone.
    let (_, cart) = store::open(app, id).await?;
    Ok(cart.is_some_and(|cart| {
        cart.state == CartState::Voiding && cart.checkout.is_some_and(|own| own.id == checkout)
    }))
}

/// Makes the cart active again, after everything that the checkout had reserved was released.
pub async fn reactivate(app: &App, id: &str, checkout: &str) -> Result<(), Error> {
    checkout::mark_active(app, id, checkout).await.decided()?;
    Ok(())
}

/// Closes the cart, after everything that the checkout owed was applied.
pub async fn complete(app: &App, id: &str, checkout: &str) -> Result<(), Error> {
    checkout::mark_complete(app, id, checkout).await.decided()?;
    Ok(())
}

/// Ids of the carts with an unfinished checkout whose attempt has ended.
pub async fn overdue(app: &App, now: DateTime, limit: i64) -> Result<Vec<String>, Error> {
    let before = app.bounds().overdue_before(now);
    let mut overdue = Vec::new();
    for state in [CartState::Pending, CartState::Voiding, CartState::Paid] {
        let mut last: Option<CartDocument> = None;
        loop {
            let page = checkout::list_overdue(app, state, before, last.as_ref(), limit).await?;
            overdue.extend(page.iter().map(|cart| cart.id.clone()));
            match page.into_iter().last() {
                Some(cart) => last = Some(cart),
                None => break,
            }
        }
    }
    Ok(overdue)
}

/// Whether the payment belongs to the cart's checkout, which is in progress or complete.
pub async fn has_payment(app: &App, cart: &str, payment: &str) -> Result<bool, Error> {
    let checkout = store::find_settled(app, cart).await?.and_then(|cart| cart.checkout);
    Ok(checkout.is_some_and(|checkout| checkout.payment_id == payment))
}

/// Calls `each` for every cart, for the invariants.
///
/// # Errors
/// An error of a read, or of `each`.
pub async fn for_each(
    app: &App,
    each: impl FnMut(CartDocument) -> Result<(), Error>,
) -> Result<(), Error> {
    store::for_each(app, each).await
}
