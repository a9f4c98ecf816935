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
        tally.add(&waiting.key, end(app, &waiting).await.map(|()| true));
    }
    for old in store::list_moved(app, before, MOST).await? {
        let IdentityDocument { key, user_id, moved_to, .. } = &old;
        let Some(to) = moved_to else { continue };
        tally.add(key, finish(app, key, user_id, to).await.map(|_| true));
    }
    let stones = store::remove_stones(app, before).await?;
    Ok(tally.finished()? + stones)
}
