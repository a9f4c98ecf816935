//! The sweep of the inventory applies interrupted deletions to the catalog, and removes old records of
//! receipts.

use mongodb::bson::DateTime;

use super::{operations, store};
use crate::{app::App, error::Error, mongo::SweepReport};

/// Maximum number of documents per pass.
const LIMIT: i64 = 100;

/// Runs one pass and returns the number of deletions that it finished.
///
/// # Errors
/// The first failure. The other deletions were still tried.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let attempt = app.begin().await?;
    let quiet = app.bounds().two_grace_periods_millis();
    let before = DateTime::from_millis(attempt.now().timestamp_millis() - quiet);
    let mut tally = SweepReport::default();
    for stock in store::list_due_deletions(app, before, LIMIT).await? {
        let incarnation = stock.deleted.unwrap_or_default();
        let followed = async {
            let attempt = app.begin().await?;
            operations::follow_deletion(app, &stock.sku, &incarnation, &attempt).await
        };
        tally.add(&stock.sku, followed.await.map(|()| true));
    }
    tally.note("receipts", forget_receipts(app, attempt.now()).await);
    tally.finished()
}

/// Removes records of receipts whose idempotency keys need not be remembered any more.
async fn forget_receipts(app: &App, now: DateTime) -> Result<(), Error> {
    let remembered = i64::try_from(app.bounds().ops.as_millis()).unwrap_or(i64::MAX);
    let before = DateTime::from_millis(now.timestamp_millis().saturating_sub(remembered));
    store::forget_receipts(app, before).await
}
