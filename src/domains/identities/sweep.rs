//! Ends changes that were cut, and removes the stones of names that were let go.

use mongodb::bson::DateTime;

use super::{
    documents::IdentityDocument,
    operations::{end, finish},
    store,
};
use crate::{app::App, error::Error, mongo::Tally};

/// How many of a kind one sweep takes on.
const MOST: i64 = 100;

/// Ends what nothing touched for long; answers how much that was.
///
/// # Errors
/// `Unavailable` or `Internal`; what is left is tried again.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let now = app.begin().await?.now().timestamp_millis();
    let before = DateTime::from_millis(now - app.bounds().quiet_millis());
    let mut tally = Tally::default();
    for waiting in store::list_pending(app, before, MOST).await? {
        tally.add(&waiting.key, end_quiet(app, &waiting).await.map(|()| true));
    }
    for old in store::list_moved(app, before, MOST).await? {
        tally.add(&old.key, finish(app, &old).await.map(|_| true));
    }
    let stones = store::remove_stones(app, before).await?;
    Ok(tally.finished()? + stones)
}

/// Ends the change of a name that waited for so long that no run can decide it any more.
async fn end_quiet(app: &App, waiting: &IdentityDocument) -> Result<(), Error> {
    if !end(app, waiting).await? {
        store::withdraw(app, waiting).await.decided()?;
    }
    Ok(())
}
