//! The sweep of the inventory applies interrupted deletions to the catalog, and removes old records of
//! receipts.

use super::{documents::StockDocument, operations, store};
use crate::{app::App, flow::Sweep};

/// Maximum number of documents per pass.
const LIMIT: i64 = 100;

/// Finishes interrupted deletions of products, and removes records of receipts whose idempotency keys need not
/// be remembered any more.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let due = store::list_due_deletions(app, sweep.quiet(), LIMIT).await;
    let follow = |stock: StockDocument| async move {
        let incarnation = stock.deleted.unwrap_or_default();
        let attempt = app.begin().await?;
        operations::follow_deletion(app, &stock.sku, &incarnation, &attempt).await.map(|()| true)
    };
    sweep.each(due, |stock| stock.sku.clone(), follow).await;
    sweep.note("receipts", store::forget_receipts(app, sweep.forgotten()).await);
}
