//! The sweep of orders finishes or aborts interrupted checkouts and raises, applies what orders owe, and
//! retires the marks of applied entries. It counts what was bought together.

use super::{
    documents::OrderDocument,
    operations::{self, SaleOfCart},
    store::orders,
    together,
};
use crate::{app::App, domains::checkout, flow::Sweep};

/// Number of documents of one kind that one command reads.
const BATCH: i64 = 100;

/// Finishes or aborts interrupted checkouts and raises, applies what orders owe, and voids authorisations
/// without a checkout or a raise.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let unchanged_before = sweep.unchanged_before();
    Box::pin(checkout::sweep_checkouts::<SaleOfCart>(app, sweep)).await;
    checkout::sweep_holds::<SaleOfCart>(app, sweep).await;
    sweep_raises(app, sweep).await;
    let by = ("outbox.at", "outbox_at");
    let list = |from, limit| orders(app).list_elements_between(by, from, unchanged_before, limit);
    let settle = |order: OrderDocument| async move {
        operations::settle(app, &order.id, unchanged_before).await
    };
    sweep.each_page("orders that owe something", BATCH, list, settle).await;
    checkout::sweep_authorisations::<SaleOfCart>(app, sweep).await;
    Box::pin(together::sweep(app, sweep)).await;
}

/// Undoes raises whose attempt has ended. One that can't be undone now, because a payment provider doesn't answer, stays at the
/// front.
async fn sweep_raises(app: &App, sweep: &mut Sweep) {
    let before = sweep.deadline_before();
    let by = ("raises.deadline", "raises_deadline");
    let list = |from, limit| orders(app).list_elements_between(by, from, before, limit);
    let undo = |order: OrderDocument| async move {
        let (mut done, mut failed) = (false, None);
        for raise in order.raises.iter().filter(|raise| raise.deadline < before) {
            match operations::undo_raise(app, &order.id, raise).await {
                Ok(undone) => done |= undone,
                Err(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok(done), Err)
    };
    sweep.each_page("raises", BATCH, list, undo).await;
}
