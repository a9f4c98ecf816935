//! The copying of what was posted, from the store that a discussion leaves to the one that it moves to.

use mongodb::bson::DateTime;

use super::super::{
    documents::{CommentDocument, OpenDiscussion, Parent},
    store::{self, BATCH, Place},
};
use crate::{app::App, error::Error, mongo::Run};

/// Seals the old store and copies what was posted to it. Everyone who does this writes the same: sealed
/// comments don't change, and which are copied was decided when the discussion began to move.
///
/// # Errors
/// Trouble; whoever comes next begins anew, and what is there stays.
pub(super) async fn carry(
    app: &App,
    run: &Run,
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
    let mut run = *run;
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
            new.copy(app, &now, number, comments, &run).await?;
            number += 1;
        }
        if is_end {
            break;
        }
        // A run is long enough for most discussions; in a large one, is it still this migration?
        if run.is_over() {
            run = app.begin().await?;
            match store::settled(app, parent).await? {
                Some(still) if still.id == discussion.id && still.epoch == discussion.epoch => {}
                _ => return Err(Error::unavailable("the discussion moved on meanwhile")),
            }
        }
    }
    if run.is_over() {
        run = app.begin().await?;
    }
    let marked = store::mark_copied(app, parent, discussion, &run).await;
    if let Some(marked) = marked.decided()? {
        return Ok(marked);
    }
    match store::settled(app, parent).await? {
        Some(still) if still.id == discussion.id && still.uncopied().is_none() => Ok(*still),
        _ => Err(run.overdue()),
    }
}
