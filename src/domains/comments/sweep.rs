//! Sweep of comments: applies overdue outboxes, continues migrations, and removes marks that are no longer
//! needed.

use mongodb::bson::DateTime;

use super::{
    documents::{LAYOUTS, OpenDiscussion, Parent},
    operations::{drive, settle},
    store::{self, Place},
};
use crate::{app::App, error::Error, mongo::SweepReport};

/// Comments and discussions per pass.
const LIMIT: i64 = 100;

/// Returns how many were finished.
///
/// # Errors
/// The first error. The remaining comments and discussions are still processed.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let attempt = app.begin().await?;
    let quiet = app.bounds().two_grace_periods_millis();
    let before = DateTime::from_millis(attempt.now().timestamp_millis() - quiet);
    let mut tally = SweepReport::default();
    for layout in LAYOUTS {
        for comment in store::storage(layout).list_due(app, before, LIMIT).await? {
            let id = comment.id.clone();
            tally.add(&id, drive(app, layout, comment).await);
        }
    }
    for (parent, discussion) in store::list_touched(app, before, LIMIT).await? {
        let done = if discussion.migration.is_some() {
            settle(app, &parent, &discussion, before).await
        } else {
            forget(app, &parent, discussion, before).await
        };
        tally.add(&parent.key, done);
    }
    tally.finished()
}

/// Removes old marks from a discussion. A mark is removed when its comment's outbox was emptied so long ago
/// that no attempt that read the entry before can still be running. Returns whether anything was changed.
async fn forget(
    app: &App,
    parent: &Parent,
    mut discussion: OpenDiscussion,
    before: DateTime,
) -> Result<bool, Error> {
    let attempt = app.begin().await?;
    let old: Vec<_> = discussion.taken.iter().filter(|taken| taken.at < before).collect();
    let id_of = |tag: &str| tag.split(':').next().unwrap_or_default().to_owned();
    let ids: Vec<_> = old.iter().map(|taken| id_of(&taken.tag)).collect();
    let place = Place::now(parent, &discussion);
    let comments = place.storage().find_all(app, &place, &ids).await?;
    let is_settled = |tag: &str| {
        let comment = comments.iter().find(|comment| comment.id == id_of(tag));
        comment.is_none_or(|comment| {
            comment.due.as_ref().is_none_or(|due| due.tag != tag)
                && comment.settled_at.is_some_and(|settled| settled < before)
        })
    };
    let tags: Vec<_> =
        old.iter().map(|taken| taken.tag.clone()).filter(|tag| is_settled(tag)).collect();
    let forgotten = !tags.is_empty();
    if forgotten {
        let left = store::forget_taken(app, parent, &discussion, &tags, &attempt).await;
        match left.decided()? {
            Some(left) => discussion = left,
            None => return Ok(false),
        }
    }
    let rests = discussion.taken.is_empty()
        && store::rest(app, parent, &discussion, &attempt).await.decided()?.is_some();
    Ok(forgotten || rests)
}
