//! The sweep of the inventory: it applies interrupted deletions to the catalog, and removes records of receipts
//! whose idempotency keys need not be remembered any more.

use super::{
    documents::StockDocument,
    operations,
    store::{self, stocks},
};
use crate::{app::App, flow::Sweep};

/// Maximum number of documents per pass.
const LIMIT: i64 = 100;

pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let due = ("deletionDue", "deletion_due");
    let due = stocks(app).list_older(due, sweep.unchanged_before(), LIMIT).await;
    let follow = |stock: StockDocument| async move {
        let generation = stock.deleted.unwrap_or_default();
        let attempt = app.begin().await?;
        operations::follow_deletion(app, &stock.sku, &generation, &attempt).await
    };
    sweep.each(due, |stock| stock.sku.clone(), follow).await;
    sweep.note("receipts", store::forget(app, sweep.ops_expired_before()).await);
}
