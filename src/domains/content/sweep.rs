//! Sweep of content: finishes interrupted flows, promotes due editions to `live`, and removes what deleted
//! content leaves behind.

use mongodb::bson::DateTime;

use super::{
    operations::keep,
    store::{self, Nodes},
};
use crate::{
    app::App,
    domains::comments,
    error::Error,
    mongo::{
        SweepReport,
        tree::{sweep_creations, sweep_deletions, sweep_fan_outs},
    },
};

/// Maximum number of each kind per sweep.
const MOST: i64 = 100;

/// Finishes flows that have been untouched for long enough; returns how many.
///
/// # Errors
/// `Unavailable` or `Internal`: the rest is left to the next sweep.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let now = app.begin().await?.now();
    let earlier = |millis| DateTime::from_millis(now.timestamp_millis().saturating_sub(millis));
    let before = earlier(app.bounds().two_grace_periods_millis());
    let forgotten = earlier(i64::try_from(app.bounds().ops.as_millis()).unwrap_or(i64::MAX));
    let tree = Nodes(app.clone());
    let done = [
        sweep_creations(&tree, before).await,
        sweep_deletions(&tree, before).await,
        sweep_fan_outs(&tree, before).await,
        versions(app, before).await,
        editions(app, now).await,
        remains(app, before).await,
        stones(app, forgotten).await,
    ];
    done.into_iter().sum()
}

/// Stores the former versions of interrupted edits.
async fn versions(app: &App, before: DateTime) -> Result<u64, Error> {
    let mut tally = SweepReport::default();
    for node in store::list_kept(app, before, MOST).await? {
        tally.add(&node.id, keep(app, &node).await.map(|()| true));
    }
    tally.finished()
}

/// Promotes due editions to `live`, which full-text search uses. Readers already see them.
async fn editions(app: &App, now: DateTime) -> Result<u64, Error> {
    let mut tally = SweepReport::default();
    for node in store::list_due(app, now, MOST).await? {
        let promoted = store::promote(app, &node.id).await.decided();
        tally.add(&node.id, promoted.map(|promoted| promoted.is_some()));
    }
    tally.finished()
}

/// Removes the versions and comments of deleted content. Inserts from before the deletion can't arrive any
/// more.
async fn remains(app: &App, before: DateTime) -> Result<u64, Error> {
    let mut tally = SweepReport::default();
    for node in store::list_remains(app, before, MOST).await? {
        let removed = async {
            if let Some(discussion) = &node.discussion {
                comments::operations::forget(app, &discussion.id).await?;
            }
            store::drop_revisions(app, &node.id).await?;
            Ok(store::settle_remains(app, &node.id).await.decided()?.is_some())
        };
        tally.add(&node.id, removed.await);
    }
    tally.finished()
}

/// Removes the tombstones of deleted content: their idempotency keys are no longer remembered.
async fn stones(app: &App, before: DateTime) -> Result<u64, Error> {
    let mut tally = SweepReport::default();
    for node in store::list_deleted(app, before, MOST).await? {
        let removed = store::remove_stone(app, &node.id).await.decided();
        tally.add(&node.id, removed.map(|removed| removed.is_some()));
    }
    tally.finished()
}
