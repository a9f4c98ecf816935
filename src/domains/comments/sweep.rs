//! Sweep of comments: applies overdue outboxes, continues migrations, and removes marks that are no longer
//! needed.

use mongodb::bson::DateTime;

use super::{
    documents::{LAYOUTS, OpenDiscussion, Parent},
    operations::{drive, settle},
    store::{self, Place},
};
use crate::{app::App, error::Error, flow::Sweep};

/// Comments and discussions per pass.
const LIMIT: i64 = 100;

/// Applies outboxes of comments, finishes migrations, and removes old marks.
pub async fn sweep(app: &App, sweep: &mut Sweep) {
    let before = sweep.quiet();
    for layout in LAYOUTS {
        let due = store::storage(layout).list_due(app, before, LIMIT).await;
        let finish = |comment| async move { drive(app, layout, comment).await };
        sweep.each(due, |comment| comment.id.clone(), finish).await;
    }
    let touched = store::list_touched(app, before, LIMIT).await;
    let settle = |(parent, discussion): (Parent, OpenDiscussion)| async move {
        if discussion.migration.is_some() {
            settle(app, &parent, &discussion, before).await
        } else {
            forget(app, &parent, discussion, before).await
        }
    };
    sweep.each(touched, |(parent, _)| parent.key.clone(), settle).await;
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
