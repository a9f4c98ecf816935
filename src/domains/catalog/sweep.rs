//! Finishes what a cut left: copies that weren't looked at again, works that are due, and products
//! that were deleted.

use mongodb::bson::DateTime;

use super::{documents::ProductDocument, operations::finish, store};
use crate::{app::App, domains::comments, error::Error, mongo::Tally};

/// Documents per pass and kind.
const LIMIT: i64 = 100;

/// Answers how many were finished.
///
/// # Errors
/// The first trouble that there was; everything else was still tried.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let run = app.begin().await?;
    let quiet = app.bounds().quiet_millis();
    let before = DateTime::from_millis(run.now().timestamp_millis() - quiet);
    let mut left = store::list_copying(app, before, LIMIT).await?;
    left.extend(store::list_due(app, before, LIMIT).await?);
    let mut tally = Tally::default();
    for product in left {
        tally.add(&product.sku, finish_one(app, &product.sku).await.map(|()| true));
    }
    for product in store::list_deleted(app, before, LIMIT).await? {
        tally.add(&product.sku, remove(app, &product, before).await);
    }
    tally.finished()
}

/// Removes a product that was deleted, its comments first.
async fn remove(app: &App, product: &ProductDocument, before: DateTime) -> Result<bool, Error> {
    if let Some(discussion) = &product.discussion {
        comments::operations::forget(app, &discussion.id).await?;
    }
    Ok(store::remove(app, &product.sku, before).await.decided()?.is_some())
}

/// Read again under the run: the list may be older.
async fn finish_one(app: &App, sku: &str) -> Result<(), Error> {
    let run = app.begin().await?;
    if let Some(product) = store::find(app, sku).await? {
        finish(app, &run, product).await?;
    }
    Ok(())
}
