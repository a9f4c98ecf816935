//! The sweep of the inventory: it applies interrupted deletions to the catalog, and removes records of receipts
//! whose idempotency keys need not be remembered any more.

use super::{
    documents::StockDocument,
    operations,
    store::{self, stocks},
};
use crate::{app::App, flow::Sweep};

/// Number of documents that one command reads.
const BATCH: i64 = 100;

pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let by = ("deletionDue", "deletion_due");
    let list = |from, limit| stocks(app).list_between(by, from, before, limit);
    let follow = |stock: StockDocument| async move {
        let generation = stock.deleted.unwrap_or_default();
        let attempt = app.begin().await?;
        operations::follow_deletion(app, &stock.sku, &generation, &attempt).await
    };
    // The deletion of a product stays at the front while stock of a variant that was added meanwhile is reserved.
    sweep.each_page("deletions", BATCH, list, follow).await;
    sweep.note("receipts", store::forget(app, sweep.ops_expired_before()).await);
}
