//! The sweep of the catalog finishes interrupted work: copies that weren't checked again, works that are due,
//! and deleted products.

use mongodb::bson::DateTime;

use super::{
    documents::ProductDocument,
    operations::finish,
    store::{self, products},
};
use crate::{app::App, domains::comments, error::Result, flow::Sweep};

/// Maximum number of documents per pass and kind.
const LIMIT: i64 = 100;

/// Finishes interrupted creations and edits, and removes deleted products.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let sku = |product: &ProductDocument| product.sku.clone();
    let products = products(app);
    for index in [("copying.at", "copying"), ("outbox.at", "outbox")] {
        let left = products.list_older(index, before, LIMIT).await;
        sweep.each(left, sku, |product| async move { finish_one(app, &product.sku).await }).await;
    }
    let deleted = products.list_older(("deletedAt", "deleted"), before, LIMIT).await;
    sweep.each(deleted, sku, |product| async move { remove(app, &product, before).await }).await;
}

/// Removes a deleted product, after its comments.
async fn remove(app: &App, product: &ProductDocument, before: DateTime) -> Result<bool> {
    if let Some(discussion) = &product.discussion {
        comments::operations::forget(app, &discussion.id).await?;
    }
    store::remove(app, &product.sku, before).await
}

/// Finishes a product. It is read again within the attempt, because the list may be older.
async fn finish_one(app: &App, sku: &str) -> Result<bool> {
    let attempt = app.begin().await?;
    if let Some(product) = products(app).get_settled(sku).await? {
        finish(app, &attempt, product).await?;
    }
    Ok(true)
}
