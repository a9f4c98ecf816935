//! Finishes or undoes what was cut: checkouts, raised lines, what orders owe; and retires the marks
//! of what they gave.

use mongodb::bson::DateTime;

use super::{documents::OrderDocument, operations};
use crate::{
    app::App,
    domains::{carts, transfers},
    error::Error,
    mongo::Tally,
};

/// Things of one kind per pass.
const BATCH: i64 = 100;

/// One pass; how many flows it finished.
///
/// # Errors
/// The first trouble that there was; everything else was still tried.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let now = app.begin().await?.now();
    let quiet = DateTime::from_millis(now.timestamp_millis() - app.bounds().quiet_millis());
    let mut tally = Tally::default();
    for cart in carts::operations::checkout::overdue(app, now, BATCH).await? {
        tally.add(&cart, finish_checkout(app, &cart).await);
    }
    for (order, raises) in operations::list_overdue_raises(app, now, BATCH).await? {
        for raise in raises {
            tally.add(&order, operations::undo_raise(app, &order, &raise).await);
        }
    }
    // What can't be given yet, such as a refund that the merchant hasn't the money for, stays at
    // the front: so the pass goes on behind it.
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

/// Finishes the checkout of a cart, in a run of its own.
async fn finish_checkout(app: &App, cart: &str) -> Result<bool, Error> {
    let (run, cart) = carts::operations::checkout::open(app, cart).await?;
    let overdue = cart.filter(|cart| {
        cart.checkout.as_ref().is_some_and(|checkout| {
            carts::operations::checkout::is_overdue(checkout, run.now(), app.bounds())
        })
    });
    let Some(cart) = overdue else { return Ok(false) };
    operations::recover(app, &cart, &run).await?;
    Ok(true)
}

/// Voids an authorisation on the ledger that belongs to no checkout and no raised line.
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
