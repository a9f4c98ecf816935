//! The sweep of orders finishes or aborts interrupted checkouts and raises, applies what orders owe, and
//! retires the marks of applied entries. It counts what was bought together.

use mongodb::bson::DateTime;

use super::{
    documents::{OrderDocument, Raise},
    operations::{self, SaleOfCart},
    store::{self, orders},
    together,
};
use crate::{app::App, domains::checkout, error::Error, flow::Sweep};

/// Number of documents of one kind that one command reads.
const BATCH: i64 = 100;

/// Finishes or aborts interrupted checkouts and raises, applies what orders owe, and voids authorisations
/// without a checkout or a raise.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let unchanged_before = sweep.unchanged_before();
    Box::pin(checkout::sweep_checkouts::<SaleOfCart>(app, sweep)).await;
    checkout::sweep_holds::<SaleOfCart>(app, sweep).await;
    let raises = overdue_raises(app, sweep.deadline_before()).await;
    let undo = |(order, raise): (String, Raise)| async move {
        operations::undo_raise(app, &order, &raise).await
    };
    sweep.each(raises, |(order, _)| order.clone(), undo).await;
    let list = |from| store::list_owing(app, from, unchanged_before, BATCH);
    let oldest = |order: &OrderDocument, from: DateTime| {
        order.outbox.iter().map(|due| due.at).filter(|at| *at >= from).min()
    };
    let settle = |order: OrderDocument| async move {
        operations::settle(app, &order.id, unchanged_before).await
    };
    let (owing, id) = ("orders that owe something", |order: &OrderDocument| order.id.clone());
    sweep.each_page(owing, BATCH, list, oldest, id, settle).await;
    checkout::sweep_authorisations::<SaleOfCart>(app, sweep).await;
    Box::pin(together::sweep(app, sweep)).await;
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
