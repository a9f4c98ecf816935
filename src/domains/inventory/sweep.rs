//! Finishes deletions that were cut before the catalog had followed.

use mongodb::bson::DateTime;

use super::{operations, store};
use crate::{app::App, error::Error};

/// Documents per pass.
const LIMIT: i64 = 100;

/// Answers how many were finished.
///
/// # Errors
/// `Unavailable` or `Internal`; the next pass goes on.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let run = app.begin().await?;
    let quiet = app.bounds().quiet_millis();
    let before = DateTime::from_millis(run.now().timestamp_millis() - quiet);
    let mut finished = 0;
    for stock in store::list_due_deletions(app, before, LIMIT).await? {
        let run = app.begin().await?;
        let incarnation = stock.deleted.unwrap_or_default();
        operations::follow_deletion(app, &stock.sku, &incarnation, &run).await?;
        finished += 1;
    }
    Ok(finished)
}
