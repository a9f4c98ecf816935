//! The sweep of orders finishes or aborts interrupted checkouts and raises, applies what orders owe, and
//! retires the marks of applied entries.

use mongodb::bson::DateTime;

use super::{
    documents::{OrderDocument, Raise},
    operations,
    store::{self, orders},
};
use crate::{
    app::App,
    domains::{
        carts::{self, operations::checkout as decider},
        payments::of_seats,
        transfers::{self, operations::Held},
    },
    error::Error,
    flow::Sweep,
};

/// Number of documents of one kind that one command reads.
const BATCH: i64 = 100;

/// Finishes or aborts interrupted checkouts and raises, applies what orders owe, and voids authorisations
/// without a checkout or a raise.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let unchanged_before = sweep.unchanged_before();
    let carts = decider::list_overdue(app, sweep.deadline_before()).await;
    sweep.each(carts, String::clone, |cart| async move { finish_checkout(app, &cart).await }).await;
    let decided = decider::list_decided(app, unchanged_before).await;
    let finish = |cart: String| async move { finish_checkout(app, &cart).await };
    sweep.each(decided, String::clone, finish).await;
    let mut holds = transfers::operations::holds_before(app, unchanged_before, BATCH).await;
    if let Ok(holds) = &mut holds {
        holds.retain(|held| of_seats(&held.cart).is_none());
    }
    let release = |held: Held| async move { release_if_undecided(app, &held).await };
    sweep.each(holds, |held| held.cart.clone(), release).await;
    let raises = overdue_raises(app, sweep.deadline_before()).await;
    let undo = |(order, raise): (String, Raise)| async move {
        operations::undo_raise(app, &order, &raise).await
    };
    sweep.each(raises, |(order, _)| order.clone(), undo).await;
    let owing = sweep_owing(app, unchanged_before, sweep).await;
    sweep.note("orders that owe something", owing);
    let mut open = transfers::operations::open_authorisations(app, unchanged_before, BATCH).await;
    if let Ok(open) = &mut open {
        open.retain(|(_, holder)| holder.as_deref().and_then(of_seats).is_none());
    }
    let void = |(id, holder): (String, Option<String>)| async move {
        void_if_unowned(app, &id, holder.as_deref()).await
    };
    sweep.each(open, |(id, _)| id.clone(), void).await;
}

/// Applies and settles what orders owe. Deferred entries, such as a refund that the merchant's account can't
/// cover, stay at the front of the list; the pass continues behind them.
async fn sweep_owing(
    app: &App,
    unchanged_before: DateTime,
    sweep: &mut Sweep,
) -> Result<(), Error> {
    let mut from = DateTime::from_millis(0);
    loop {
        let owing = store::list_owing(app, from, unchanged_before, BATCH).await?;
        let oldest = |order: &OrderDocument| {
            order.outbox.iter().map(|due| due.at).filter(|at| *at >= from).min()
        };
        let last = owing.iter().filter_map(oldest).max();
        let is_full = i64::try_from(owing.len()) == Ok(BATCH);
        let settle = |order: OrderDocument| async move {
            operations::settle(app, &order.id, unchanged_before).await
        };
        sweep.each(Ok(owing), |order| order.id.clone(), settle).await;
        match last {
            Some(last) if is_full && last > from => from = last,
            _ => return Ok(()),
        }
    }
}

/// Finishes the checkout of a cart in its own attempt.
async fn finish_checkout(app: &App, cart: &str) -> Result<bool, Error> {
    let (attempt, Some(cart)) = decider::begin_with(app, cart).await? else { return Ok(false) };
    let is_overdue =
        cart.checkout.as_ref().is_some_and(|checkout| attempt.is_overdue(checkout.deadline));
    if is_overdue {
        operations::recover(app, &cart, &attempt).await?;
    }
    Ok(is_overdue)
}

/// Raises whose attempt has ended, each with the id of its order.
async fn overdue_raises(app: &App, before: DateTime) -> Result<Vec<(String, Raise)>, Error> {
    let of = ("raises.deadline", "raises_deadline");
    let overdue = |order: OrderDocument| {
        let raises = order.raises.into_iter().filter(move |raise| raise.deadline < before);
        raises.map(move |raise| (order.id.clone(), raise))
    };
    Ok(orders(app).list_older(of, before, BATCH).await?.into_iter().flat_map(overdue).collect())
}

/// Voids an authorisation of the ledger that belongs to no checkout and no raise.
async fn void_if_unowned(app: &App, id: &str, holder: Option<&str>) -> Result<bool, Error> {
    let is_owned = match (holder, holder.and_then(carts::order_of_holder)) {
        (_, Some(order)) => operations::has_payment(app, order, id).await?,
        (Some(cart), None) => decider::has_payment(app, cart, id).await?,
        (None, None) => false,
    };
    if !is_owned {
        transfers::operations::void(app, id).await?;
    }
    Ok(!is_owned)
}

/// Releases a hold for a checkout that hasn't decided. Its attempt has ended, and a repeat of the call can't decide any
/// more once the tag is void.
async fn release_if_undecided(app: &App, held: &Held) -> Result<bool, Error> {
    let Held { account, payment, cart, tag } = held;
    if decider::has_decided(app, cart, tag).await? || !decider::abort_tag(app, cart, tag).await? {
        return Ok(false);
    }
    transfers::operations::release(app, account, payment).await.map(|()| true)
}
