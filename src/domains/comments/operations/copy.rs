//! Copies posted comments from the old store of a discussion to the new one.

use mongodb::bson::DateTime;

use super::super::{
    documents::{CommentDocument, OpenDiscussion, Parent},
    store::{self, BATCH, Place},
};
use crate::{app::App, error::Error, flow::Attempt};

/// Seals the old store and copies the comments that were posted to it. Concurrent copiers write the same:
/// sealed comments don't change, and the set of comments to copy was fixed when the migration began.
///
/// # Errors
/// A repeat starts again from the beginning; copies that exist are kept.
pub(super) async fn carry(
    app: &App,
    attempt: &Attempt,
    parent: &Parent,
    discussion: &OpenDiscussion,
) -> Result<OpenDiscussion, Error> {
    let (now, before) = (Place::now(parent, discussion), Place::before(parent, discussion));
    let (Some(migration), Some(before)) = (discussion.uncopied(), before) else {
        return Ok(discussion.clone());
    };
    let (old, new) = (before.storage(), now.storage());
    old.seal(app, &before).await?;
    let size = usize::try_from(BATCH).unwrap_or(usize::MAX);
    let mut attempt = *attempt;
    let (mut after, mut number): (Option<(DateTime, String)>, i64) = (None, 0);
    let mut kept: Vec<CommentDocument> = Vec::new();
    loop {
        let batch = old.batch(app, &before, after.as_ref()).await?;
        let is_end = batch.is_empty();
        after = batch.last().map(|last| (last.at, last.id.clone())).or(after);
        let copied =
            batch.into_iter().filter(|comment| comment.is_taken(&migration.taken)).map(|comment| {
                CommentDocument {
                    key: now.key(&comment.id),
                    on: now.on(),
                    sealed: false,
                    ..comment
                }
            });
        kept.extend(copied);
        while kept.len() >= size || (is_end && !kept.is_empty()) {
            let rest = kept.split_off(kept.len().min(size));
            let comments = std::mem::replace(&mut kept, rest);
            if !new.lists_authors() {
                store::put_authored(app, &now.discussion, &comments).await?;
            }
            new.copy(app, &now, number, comments, &attempt).await?;
            number += 1;
        }
        if is_end {
            break;
        }
        // One attempt is long enough for most discussions. In a large one, check that the migration is the
        // same.
        if attempt.is_over() {
            attempt = app.begin().await?;
            match store::settled(app, parent).await? {
                Some(still) if still.id == discussion.id && still.epoch == discussion.epoch => {}
                _ => return Err(Error::unavailable("the discussion moved on meanwhile")),
            }
        }
    }
    if attempt.is_over() {
        attempt = app.begin().await?;
    }
    let marked = store::mark_copied(app, parent, discussion, &attempt).await;
    if let Some(marked) = marked.decided()? {
        return Ok(marked);
    }
    match store::settled(app, parent).await? {
        Some(still) if still.id == discussion.id && still.uncopied().is_none() => Ok(*still),
        _ => Err(attempt.overdue()),
    }
}
