//! The sweep of orders finishes or aborts interrupted checkouts and raises, applies what orders owe, and
//! retires the marks of applied entries.

use mongodb::bson::DateTime;

use super::{
    documents::{OrderDocument, Raise},
    operations::{self, SaleOfCart},
    store::{self, orders},
};
use crate::{app::App, domains::checkout, error::Error, flow::Sweep};

/// Number of documents of one kind that one command reads.
const BATCH: i64 = 100;

/// Finishes or aborts interrupted checkouts and raises, applies what orders owe, and voids authorisations
/// without a checkout or a raise.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let unchanged_before = sweep.unchanged_before();
    checkout::sweep_checkouts::<SaleOfCart>(app, sweep).await;
    checkout::sweep_holds::<SaleOfCart>(app, sweep).await;
    let raises = overdue_raises(app, sweep.deadline_before()).await;
    let undo = |(order, raise): (String, Raise)| async move {
        operations::undo_raise(app, &order, &raise).await
    };
    sweep.each(raises, |(order, _)| order.clone(), undo).await;
    let owing = sweep_owing(app, unchanged_before, sweep).await;
    sweep.note("orders that owe something", owing);
    checkout::sweep_authorisations::<SaleOfCart>(app, sweep).await;
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

/// Raises whose attempt has ended, each with the id of its order.
async fn overdue_raises(app: &App, before: DateTime) -> Result<Vec<(String, Raise)>, Error> {
    let of = ("raises.deadline", "raises_deadline");
    let overdue = |order: OrderDocument| {
        let raises = order.raises.into_iter().filter(move |raise| raise.deadline < before);
        raises.map(move |raise| (order.id.clone(), raise))
    };
    Ok(orders(app).list_older(of, before, BATCH).await?.into_iter().flat_map(overdue).collect())
}
