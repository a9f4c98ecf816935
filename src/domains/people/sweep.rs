//! Finishes what a cut left: names that are still to be spread, and stones of no more use.

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
    for person in store::list_due(app, before, LIMIT).await? {
        operations::spread(app, person).await?;
        finished += 1;
    }
    Ok(finished + store::remove_stones(app, before).await?)
}
