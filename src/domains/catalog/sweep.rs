//! The sweep of the catalog finishes interrupted work: copies that weren't checked again, works that are due,
//! and deleted products.

use mongodb::bson::DateTime;

use super::{documents::ProductDocument, operations::finish, store};
use crate::{app::App, domains::comments, error::Error, mongo::SweepReport};

/// Maximum number of documents per pass and kind.
const LIMIT: i64 = 100;

/// Runs one pass and returns the number of products that it finished.
///
/// # Errors
/// The first failure. The other products were still tried.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let attempt = app.begin().await?;
    let quiet = app.bounds().two_grace_periods_millis();
    let before = DateTime::from_millis(attempt.now().timestamp_millis() - quiet);
    let mut left = store::list_copying(app, before, LIMIT).await?;
    left.extend(store::list_due(app, before, LIMIT).await?);
    let mut tally = SweepReport::default();
    for product in left {
        tally.add(&product.sku, finish_one(app, &product.sku).await.map(|()| true));
    }
    for product in store::list_deleted(app, before, LIMIT).await? {
        tally.add(&product.sku, remove(app, &product, before).await);
    }
    tally.finished()
}

/// Removes a deleted product, after its comments.
async fn remove(app: &App, product: &ProductDocument, before: DateTime) -> Result<bool, Error> {
    if let Some(discussion) = &product.discussion {
        comments::operations::forget(app, &discussion.id).await?;
    }
    Ok(store::remove(app, &product.sku, before).await.decided()?.is_some())
}

/// Finishes a product. It is read again within the attempt, because the list may be older.
async fn finish_one(app: &App, sku: &str) -> Result<(), Error> {
    let attempt = app.begin().await?;
    if let Some(product) = store::find(app, sku).await? {
        finish(app, &attempt, product).await?;
    }
    Ok(())
}
