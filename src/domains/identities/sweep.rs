//! Sweep of identities: finishes interrupted changes, and removes the tombstones of released names.

use mongodb::bson::DateTime;

use super::{
    documents::IdentityDocument,
    operations::{end, finish},
    store,
};
use crate::{app::App, error::Error, mongo::SweepReport};

/// Maximum number of each kind per sweep.
const MOST: i64 = 100;

/// Finishes flows that have been untouched for long enough; returns how many.
///
/// # Errors
/// `Unavailable` or `Internal`: the rest is left to the next sweep.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let now = app.begin().await?.now().timestamp_millis();
    let before = DateTime::from_millis(now - app.bounds().two_grace_periods_millis());
    let mut tally = SweepReport::default();
    for waiting in store::list_pending(app, before, MOST).await? {
        tally.add(&waiting.key, end_quiet(app, &waiting).await.map(|()| true));
    }
    for old in store::list_moved(app, before, MOST).await? {
        tally.add(&old.key, finish(app, &old).await.map(|_| true));
    }
    let stones = store::remove_stones(app, before).await?;
    Ok(tally.finished()? + stones)
}

/// Ends a change that is so old that no attempt can commit it any more.
async fn end_quiet(app: &App, waiting: &IdentityDocument) -> Result<(), Error> {
    if !end(app, waiting).await? {
        store::withdraw(app, waiting).await.decided()?;
    }
    Ok(())
}
