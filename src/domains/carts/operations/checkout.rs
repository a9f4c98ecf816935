//! The cart's part of a checkout. The room of orders runs the flow; its decider is the cart, and
//! these are the decisions.

use mongodb::bson::DateTime;

use super::super::{
    documents::{CartDocument, CartLine, CartState, Checkout},
    store::{self, checkout},
};
use crate::{
    app::App,
    error::Error,
    mongo::{Bounds, Run},
};

/// The sum of the lines in minor units. It can't overflow: see the bounds in the room's `mod.rs`.
pub fn total(lines: &[CartLine]) -> i64 {
    lines.iter().map(|line| line.quantity * line.unit_price).sum()
}

/// Whether nothing that the run behind the checkout sent can be applied any more.
pub fn is_overdue(checkout: &Checkout, now: DateTime, bounds: Bounds) -> bool {
    checkout.deadline < bounds.overdue_before(now)
}

/// Opens a run with its first read, the cart.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn open(app: &App, id: &str) -> Result<(Run, Option<CartDocument>), Error> {
    store::open(app, id).await
}

/// Begins a checkout: the lines are frozen. `None` when the cart isn't as it was read: it takes no
/// checkout, or another one was quicker, or stock is still to be returned.
///
/// # Errors
/// The outcome is unknown.
pub async fn claim(
    app: &App,
    cart: &CartDocument,
    checkout: &Checkout,
    run: &Run,
) -> Result<Option<CartDocument>, Error> {
    checkout::claim(app, cart, checkout, run).await.decided()
}

/// Decides the checkout: from here it only goes forward, and the cart is the checkout's owner's. `None` when it was given up before.
///
/// # Errors
/// The outcome is unknown.
pub async fn pay(app: &App, id: &str, checkout: &Checkout) -> Result<Option<CartDocument>, Error> {
    checkout::mark_paid(app, id, checkout).await.decided()
}

/// Gives the checkout up; says whether it is given up and still to be undone.
///
/// # Errors
/// The outcome is unknown.
pub async fn give_up(app: &App, id: &str, checkout: &str) -> Result<bool, Error> {
    if checkout::mark_voiding(app, id, checkout).await.decided()?.is_some() {
        return Ok(true);
    }
    // Another one was quicker: it was paid, or given up, or that is undone already.
    let (_, cart) = store::open(app, id).await?;
    Ok(cart.is_some_and(|cart| {
        cart.state == CartState::Voiding && cart.checkout.is_some_and(|own| own.id == checkout)
    }))
}

/// The cart takes changes again: everything that the checkout had taken was given back.
///
/// # Errors
/// The outcome is unknown.
pub async fn reactivate(app: &App, id: &str, checkout: &str) -> Result<(), Error> {
    checkout::mark_active(app, id, checkout).await.decided()?;
    Ok(())
}

/// Closes the cart: everything that the checkout owed was given.
///
/// # Errors
/// The outcome is unknown.
pub async fn complete(app: &App, id: &str, checkout: &str) -> Result<(), Error> {
    checkout::mark_complete(app, id, checkout).await.decided()?;
    Ok(())
}

/// Carts with a checkout that nobody carries on any more, in each state.
///
/// # Errors
/// `Unavailable` or `Internal`.
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

/// Whether the payment is that of the cart's checkout, which is under way or done.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn has_payment(app: &App, cart: &str, payment: &str) -> Result<bool, Error> {
    let checkout = store::find_settled(app, cart).await?.and_then(|cart| cart.checkout);
    Ok(checkout.is_some_and(|checkout| checkout.payment_id == payment))
}

/// Calls `each` for every cart, for the invariants.
///
/// # Errors
/// `Unavailable` or `Internal`, or what `each` says.
pub async fn for_each(
    app: &App,
    each: impl FnMut(CartDocument) -> Result<(), Error>,
) -> Result<(), Error> {
    store::for_each(app, each).await
}
