//! Sweep of comments: applies overdue outboxes, continues migrations, and removes marks that are no longer
//! needed.

use mongodb::bson::DateTime;

use super::{
    documents::{LAYOUTS, Mark},
    operations::{drive, settle},
    store::{self, DiscussionHandle},
};
use crate::{app::App, error::Result, flow::Sweep};

/// Comments and discussions per pass.
const LIMIT: i64 = 100;

/// Applies outboxes of comments, finishes migrations, and removes old marks.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    for layout in LAYOUTS {
        let due = store::list_due(app, layout, before, LIMIT).await;
        let finish = |comment| async move { drive(app, layout, comment).await };
        sweep.each(due, |comment| comment.id.clone(), finish).await;
    }
    let touched = store::list_touched(app, before, LIMIT).await;
    let key = |discussed: &DiscussionHandle<'_>| discussed.parent.key.clone();
    sweep.each(touched, key, |discussed| settle_one(discussed, before)).await;
}

async fn settle_one(discussed: DiscussionHandle<'_>, before: DateTime) -> Result<bool> {
    match discussed.migration {
        Some(_) => settle(discussed, before).await,
        None => forget(discussed, before).await,
    }
}

/// Removes old marks from a discussion. A mark is removed when its comment's outbox was emptied so long ago
/// that no attempt that read the entry before can still be running. Returns whether anything was changed.
async fn forget(mut discussed: DiscussionHandle<'_>, before: DateTime) -> Result<bool> {
    let attempt = discussed.app.begin().await?;
    let old: Vec<_> = discussed.marks.iter().filter(|mark| mark.at < before).collect();
    let ids: Vec<_> = old.iter().map(|mark| mark.comment_id().to_owned()).collect();
    let comments = discussed.store().find_all(&ids).await?;
    let is_settled = |mark: &&&Mark| {
        comments.iter().filter(|comment| comment.id == mark.comment_id()).all(|comment| {
            comment.due.as_ref().is_none_or(|due| due.tag != mark.tag)
                && comment.settled_at.is_some_and(|settled| settled < before)
        })
    };
    let tags: Vec<_> = old.iter().filter(is_settled).map(|mark| mark.tag.clone()).collect();
    let forgotten = !tags.is_empty();
    if forgotten {
        let Some(left) = discussed.forget_marks(&tags, &attempt).await? else { return Ok(false) };
        discussed = left;
    }
    let is_idle = discussed.marks.is_empty() && discussed.mark_idle(&attempt).await?.is_some();
    Ok(forgotten || is_idle)
}
