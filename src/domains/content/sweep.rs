//! Ends what was cut, puts what is due in its place, and removes what was deleted.

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
        Tally,
        tree::{sweep_creations, sweep_deletions, sweep_fan_outs},
    },
};

/// How many of a kind one sweep takes on.
const MOST: i64 = 100;

/// Ends what nothing touched for long; answers how much that was.
///
/// # Errors
/// `Unavailable` or `Internal`; what is left is tried again.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let now = app.begin().await?.now();
    let quiet = app.bounds().quiet_millis();
    let before = DateTime::from_millis(now.timestamp_millis() - quiet);
    let tree = Nodes(app);
    let done = [
        sweep_creations(&tree, before).await,
        sweep_deletions(&tree, before).await,
        sweep_fan_outs(&tree, before).await,
        versions(app, before).await,
        editions(app, now).await,
        stones(app, before).await,
    ];
    done.into_iter().sum()
}

/// Keeps the versions that cut edits replaced.
async fn versions(app: &App, before: DateTime) -> Result<u64, Error> {
    let mut tally = Tally::default();
    for node in store::list_kept(app, before, MOST).await? {
        tally.add(&node.id, keep(app, &node).await.map(|()| true));
    }
    tally.finished()
}

/// Full text looks at what is live. Everybody else already sees what is due.
async fn editions(app: &App, now: DateTime) -> Result<u64, Error> {
    let mut tally = Tally::default();
    for node in store::list_due(app, now, MOST).await? {
        let promoted = store::promote(app, &node.id).await.decided();
        tally.add(&node.id, promoted.map(|promoted| promoted.is_some()));
    }
    tally.finished()
}

/// Inserts from before a deletion can't come any more: what they left goes, and then the stone.
async fn stones(app: &App, before: DateTime) -> Result<u64, Error> {
    let mut tally = Tally::default();
    for node in store::list_deleted(app, before, MOST).await? {
        let removed = async {
            if let Some(discussion) = &node.discussion {
                comments::operations::forget(app, &discussion.id).await?;
            }
            store::drop_revisions(app, &node.id).await?;
            Ok(store::remove_stone(app, &node.id).await.decided()?.is_some())
        };
        tally.add(&node.id, removed.await);
    }
    tally.finished()
}
