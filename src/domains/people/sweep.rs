//! Sweep of people: applies overdue changes of names, and removes tombstones that are no longer needed.

use mongodb::bson::DateTime;

use super::{operations, store};
use crate::{app::App, error::Error, mongo::SweepReport};

/// Documents per pass.
const LIMIT: i64 = 100;

/// Returns how many were finished.
///
/// # Errors
/// The first error. The remaining people are still processed.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let attempt = app.begin().await?;
    let quiet = app.bounds().two_grace_periods_millis();
    let before = DateTime::from_millis(attempt.now().timestamp_millis() - quiet);
    let mut tally = SweepReport::default();
    for person in store::list_due(app, before, LIMIT).await? {
        let id = person.id.clone();
        tally.add(&id, operations::spread(app, person).await.map(|_| true));
    }
    let stones = store::remove_stones(app, before).await?;
    Ok(tally.finished()? + stones)
}
