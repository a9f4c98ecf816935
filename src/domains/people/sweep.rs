//! Finishes what a cut left: names that are still to be spread, and stones of no more use.

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
    for person in store::list_due(app, before, LIMIT).await? {
        let id = person.id.clone();
        tally.add(&id, operations::spread(app, person).await.map(|_| true));
    }
    let stones = store::remove_stones(app, before).await?;
    Ok(tally.finished()? + stones)
}
