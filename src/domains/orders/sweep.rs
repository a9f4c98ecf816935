//! The sweep of orders finishes or aborts interrupted checkouts and raises, applies what orders owe, and
//! retires the marks of applied entries.

use mongodb::bson::DateTime;

use super::{
    documents::{OrderDocument, Raise},
    operations,
};
use crate::{
    app::App,
    domains::{carts, transfers},
    error::Error,
    flow::Sweep,
};

/// Number of documents of one kind that one command reads.
const BATCH: i64 = 100;

/// Finishes or aborts interrupted checkouts and raises, applies what orders owe, and voids payments that belong
/// to nothing.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let (now, quiet) = (sweep.now(), sweep.quiet());
    let carts = carts::operations::checkout::overdue(app, now, BATCH).await;
    sweep.each(carts, String::clone, |cart| async move { finish_checkout(app, &cart).await }).await;
    let raises = operations::list_overdue_raises(app, now, BATCH).await;
    let undo = |(order, raise): (String, Raise)| async move {
        operations::undo_raise(app, &order, &raise).await
    };
    sweep.each(raises, |(order, _)| order.clone(), undo).await;
    let owing = sweep_owing(app, quiet, sweep).await;
    sweep.note("orders that owe something", owing);
    let open = transfers::operations::open_authorisations(app, quiet, BATCH).await;
    let void = |(id, holder): (String, Option<String>)| async move {
        void_if_nobodys(app, &id, holder.as_deref()).await
    };
    sweep.each(open, |(id, _)| id.clone(), void).await;
}

/// Applies and settles what orders owe. Deferred entries, such as a refund that the merchant's account can't
/// cover, stay at the front of the list; the pass continues behind them.
async fn sweep_owing(app: &App, quiet: DateTime, sweep: &mut Sweep) -> Result<(), Error> {
    let mut from = DateTime::from_millis(0);
    loop {
        let owing = operations::list_owing(app, from, quiet, BATCH).await?;
        let oldest = |order: &OrderDocument| {
            order.outbox.iter().map(|due| due.at).filter(|at| *at >= from).min()
        };
        let last = owing.iter().filter_map(oldest).max();
        let is_full = i64::try_from(owing.len()) == Ok(BATCH);
        let settle =
            |order: OrderDocument| async move { operations::settle(app, &order.id, quiet).await };
        sweep.each(Ok(owing), |order| order.id.clone(), settle).await;
        match last {
            Some(last) if is_full && last > from => from = last,
            _ => return Ok(()),
        }
    }
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
