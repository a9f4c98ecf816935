//! Sweep of comments: applies overdue outboxes, continues migrations, and removes marks that are no longer
//! needed.

use mongodb::bson::DateTime;

use super::{
    documents::{CommentDocument, Layout, Mark, PageDocument, ParentKind},
    operations::{drive, settle},
    store::{self, DiscussionHandle},
};
use crate::{app::App, error::Result, flow::Sweep};

/// Number of documents of one kind that one command reads.
const LIMIT: i64 = 100;

/// Applies outboxes of comments, finishes migrations, and removes old marks.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let comments = store::comments(app);
    let due = |from, limit| comments.list_between(("due.at", "due"), from, before, limit);
    let finish = |comment| async move { drive(app, Layout::PerDocument, comment).await };
    sweep.each_page("comments", LIMIT, due, finish).await;

    let (pages, by) = (store::pages(app), ("entries.due.at", "due"));
    let due = |from, limit| pages.list_elements_between(by, from, before, limit);
    let finish = |page: PageDocument| drive_each(app, Layout::Paged, page.entries, before);
    sweep.each_page("pages", LIMIT, due, finish).await;

    for kind in ParentKind::all() {
        let touched = |from, limit| store::list_touched(app, kind, from, before, limit);
        let finish = |discussed: DiscussionHandle<'_>| {
            drive_each(app, Layout::Embedded, discussed.discussion.entries, before)
        };
        let what = format!("embedded comments: {}", kind.name());
        sweep.each_page(&what, LIMIT, touched, finish).await;
        let what = format!("discussions: {}", kind.name());
        let settle = |discussed| settle_one(discussed, before);
        sweep.each_page(&what, LIMIT, touched, settle).await;
    }
}

/// Applies the overdue outboxes of comments. What fails doesn't hold up the others. Returns whether any was applied.
async fn drive_each(
    app: &App,
    layout: Layout,
    comments: Vec<CommentDocument>,
    before: DateTime,
) -> Result<bool> {
    let is_due =
        |comment: &CommentDocument| comment.due.as_ref().is_some_and(|due| due.at < before);
    let (mut done, mut failed) = (false, None);
    for comment in comments.into_iter().filter(is_due) {
        match drive(app, layout, comment).await {
            Ok(is_applied) => done |= is_applied,
            Err(error) => {
                failed.get_or_insert(error);
            }
        }
    }
    failed.map_or(Ok(done), Err)
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
