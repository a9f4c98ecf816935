//! Finishes what a cut left: copies that weren't looked at again, works that are due, and products
//! that were deleted.

use mongodb::bson::DateTime;

use super::{operations::finish, store};
use crate::{app::App, error::Error};

/// Documents per pass and kind.
const LIMIT: i64 = 100;

/// Answers how many were finished.
///
/// # Errors
/// `Unavailable` or `Internal`; the next pass goes on.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let run = app.begin().await?;
    let quiet = app.bounds().quiet_millis();
    let before = DateTime::from_millis(run.now().timestamp_millis() - quiet);
    let mut left = store::list_copying(app, before, LIMIT).await?;
    left.extend(store::list_due(app, before, LIMIT).await?);
    let mut finished = 0;
    for product in left {
        let run = app.begin().await?;
        // Read again under the run: the list may be older.
        if let Some(product) = store::find(app, &product.sku).await? {
            finish(app, &run, product).await?;
        }
        finished += 1;
    }
    for product in store::list_deleted(app, before, LIMIT).await? {
        let removed = store::remove(app, &product.sku, before).await.decided()?;
        finished += u64::from(removed.is_some());
    }
    Ok(finished)
}
