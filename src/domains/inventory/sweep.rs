//! Finishes deletions that were cut before the catalog had followed, and forgets receipts.

use mongodb::bson::DateTime;

use super::{operations, store};
use crate::{app::App, error::Error, mongo::Tally};

/// Documents per pass.
const LIMIT: i64 = 100;

/// Answers how many were finished.
///
/// # Errors
/// The first trouble that there was; everything else was still tried.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let run = app.begin().await?;
    let quiet = app.bounds().quiet_millis();
    let before = DateTime::from_millis(run.now().timestamp_millis() - quiet);
    let mut tally = Tally::default();
    for stock in store::list_due_deletions(app, before, LIMIT).await? {
        let incarnation = stock.deleted.unwrap_or_default();
        let followed = async {
            let run = app.begin().await?;
            operations::follow_deletion(app, &stock.sku, &incarnation, &run).await
        };
        tally.add(&stock.sku, followed.await.map(|()| true));
    }
    tally.note("receipts", forget_receipts(app, run.now()).await);
    tally.finished()
}

/// Forgets receipts whose op ids needn't be remembered any more.
async fn forget_receipts(app: &App, now: DateTime) -> Result<(), Error> {
    let remembered = i64::try_from(app.bounds().ops.as_millis()).unwrap_or(i64::MAX);
    let before = DateTime::from_millis(now.timestamp_millis().saturating_sub(remembered));
    store::forget_receipts(app, before).await
}
