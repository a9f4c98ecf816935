//! The sweep of the catalog finishes interrupted work: copies that weren't checked again, works that are due,
//! and deleted products.

use mongodb::bson::DateTime;

use super::{
    documents::ProductDocument,
    operations::{finish, finish_claim},
    store::{self, products},
};
use crate::{app::App, domains::comments, error::Result, flow::Sweep};

/// Number of documents of one kind that one command reads.
const LIMIT: i64 = 100;

/// Finishes interrupted creations and edits, and removes deleted products.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let products = products(app);
    let finish = |product: ProductDocument| async move { finish_one(app, &product.sku).await };
    let copying =
        |from, limit| products.list_between(("copying.at", "copying"), from, before, limit);
    sweep.each_page("copies", LIMIT, copying, finish).await;
    let owing =
        |from, limit| products.list_elements_between(("outbox.at", "outbox"), from, before, limit);
    sweep.each_page("works", LIMIT, owing, finish).await;
    let claims = store::claims(app);
    let claimed = |from, limit| claims.list_between(("claimedAt", "claimed"), from, before, limit);
    let finish = |claim| finish_claim(app, claim);
    sweep.each_page("claims of slugs", LIMIT, claimed, finish).await;
    // A deleted product stays at the front while stock of its variants is reserved.
    let by = ("deletedAt", "deleted");
    let deleted = |from, limit| products.list_between(by, from, before, limit);
    let remove = |product| async move { remove(app, &product, before).await };
    sweep.each_page("deleted products", LIMIT, deleted, remove).await;
}

/// Removes a deleted product, after its comments and the claims of its slugs.
async fn remove(app: &App, product: &ProductDocument, before: DateTime) -> Result<bool> {
    if let Some(discussion) = &product.discussion {
        comments::operations::forget(app, &discussion.id).await?;
    }
    store::free_slugs(app, product).await?;
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
