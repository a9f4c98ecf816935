//! The sweep of the catalog finishes interrupted work: copies that weren't checked again, works that are due,
//! and deleted products.

use mongodb::bson::DateTime;

use super::{
    documents::{ProductDocument, SlugDocument},
    operations::{finish, finish_claim},
    store::{self, products},
};
use crate::{app::App, domains::comments, error::Result, flow::Sweep};

/// Number of documents of one kind that one command reads.
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
    let claims = store::claims(app).list_older(("claimedAt", "claimed"), before, LIMIT).await;
    let slug = |claim: &SlugDocument| claim.slug.clone();
    sweep.each(claims, slug, |claim| finish_claim(app, claim)).await;
    // A deleted product stays at the front while stock of its variants is reserved.
    let by = ("deletedAt", "deleted");
    let deleted = |from| products.list_between(by, from, before, LIMIT);
    let at = |product: &ProductDocument, _| product.deleted_at;
    let remove = |product| async move { remove(app, &product, before).await };
    sweep.each_page("deleted products", LIMIT, deleted, at, sku, remove).await;
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
