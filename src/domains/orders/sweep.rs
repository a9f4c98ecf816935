//! The sweep of orders finishes or aborts interrupted checkouts and raises, applies what orders owe, and
//! retires the marks of applied entries.

use mongodb::bson::DateTime;

use super::{documents::OrderDocument, operations};
use crate::{
    app::App,
    domains::{carts, transfers},
    error::Error,
    mongo::SweepReport,
};

/// Number of documents of one kind that one command reads.
const BATCH: i64 = 100;

/// Runs one pass and returns the number of flows that it finished.
///
/// # Errors
/// The first failure. The other flows were still tried.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let now = app.begin().await?.now();
    let quiet =
        DateTime::from_millis(now.timestamp_millis() - app.bounds().two_grace_periods_millis());
    let mut tally = SweepReport::default();
    for cart in carts::operations::checkout::overdue(app, now, BATCH).await? {
        tally.add(&cart, finish_checkout(app, &cart).await);
    }
    for (order, raises) in operations::list_overdue_raises(app, now, BATCH).await? {
        for raise in raises {
            tally.add(&order, operations::undo_raise(app, &order, &raise).await);
        }
    }
    // Deferred entries, such as a refund that the merchant's account can't cover, stay at the front of the
    // list. The pass continues behind them.
    let mut from = DateTime::from_millis(0);
    loop {
        let owing = operations::list_owing(app, from, quiet, BATCH).await?;
        for order in &owing {
            tally.add(&order.id, operations::settle(app, &order.id, quiet).await);
        }
        let oldest = |order: &OrderDocument| {
            order.outbox.iter().map(|due| due.at).filter(|at| *at >= from).min()
        };
        match owing.iter().filter_map(oldest).max() {
            Some(last) if i64::try_from(owing.len()) == Ok(BATCH) && last > from => from = last,
            _ => break,
        }
    }
    for (id, holder) in transfers::operations::open_authorisations(app, quiet, BATCH).await? {
        tally.add(&id, void_if_nobodys(app, &id, holder.as_deref()).await);
    }
    tally.finished()
}

/// Finishes the checkout of a cart in its own attempt.
async fn finish_checkout(app: &App, cart: &str) -> Result<bool, Error> {
    let (attempt, cart) = carts::operations::checkout::open(app, cart).await?;
    let overdue = cart.filter(|cart| {
        cart.checkout.as_ref().is_some_and(|checkout| {
            carts::operations::checkout::is_overdue(checkout, attempt.now(), app.bounds())
        })
    });
    let Some(cart) = overdue else { return Ok(false) };
    operations::recover(app, &cart, &attempt).await?;
    Ok(true)
}

/// Voids an authorisation of the ledger that belongs to no checkout and no raise.
async fn void_if_nobodys(app: &App, id: &str, holder: Option<&str>) -> Result<bool, Error> {
    if let Some(holder) = holder
        && has_payment(app, holder, id).await?
    {
        return Ok(false);
    }
    transfers::operations::void(app, id).await?;
    Ok(true)
}

async fn has_payment(app: &App, holder: &str, payment: &str) -> Result<bool, Error> {
    match carts::order_of_holder(holder) {
        Some(order) => operations::has_payment(app, order, payment).await,
        None => carts::operations::checkout::has_payment(app, holder, payment).await,
    }
}
