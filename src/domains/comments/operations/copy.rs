//! Copies posted comments from the old store of a discussion to the new one.

use mongodb::bson::DateTime;

use super::super::{
    documents::CommentDocument,
    store::{self, BATCH, Discussed},
};
use crate::{error::Error, flow::Attempt};

/// While the discussion moves to another layout and not everything is copied: seals the old store and copies
/// the comments that were posted to it. Concurrent copiers write the same: sealed comments don't change, and
/// the set of comments to copy was fixed when the migration began.
///
/// # Errors
/// A repeat starts again from the beginning; copies that exist are kept.
pub(super) async fn carry<'a>(
    attempt: &Attempt,
    discussed: Discussed<'a>,
) -> Result<Discussed<'a>, Error> {
    let Some((migration, old)) = discussed.uncopied_place() else { return Ok(discussed) };
    let (app, new) = (discussed.app, discussed.place());
    old.seal().await?;
    let size = usize::try_from(BATCH).unwrap_or(usize::MAX);
    let mut attempt = *attempt;
    let (mut after, mut number): (Option<(DateTime, String)>, i64) = (None, 0);
    let mut kept: Vec<CommentDocument> = Vec::new();
    loop {
        let batch = old.batch(after.as_ref()).await?;
        let is_end = batch.is_empty();
        after = batch.last().map(|last| (last.at, last.id.clone())).or(after);
        let taken = batch.into_iter().filter(|comment| comment.is_taken(&migration.taken));
        kept.extend(taken.map(|comment| CommentDocument {
            key: new.key(&comment.id),
            on: new.on(),
            sealed: false,
            ..comment
        }));
        while kept.len() >= size || (is_end && !kept.is_empty()) {
            let rest = kept.split_off(kept.len().min(size));
            let comments = std::mem::replace(&mut kept, rest);
            if !new.lists_authors() {
                store::put_authored(app, &new.discussion, &comments).await?;
            }
            new.copy(number, comments, &attempt).await?;
            number += 1;
        }
        if is_end {
            break;
        }
        // One attempt is long enough for most discussions. In a large one, check that the migration is the
        // same.
        if attempt.is_over() {
            attempt = app.begin().await?;
            match store::settled(app, &discussed.parent).await? {
                Some(still) if still.id == discussed.id && still.epoch == discussed.epoch => {}
                _ => return Err(Error::unavailable("the discussion moved on meanwhile")),
            }
        }
    }
    if attempt.is_over() {
        attempt = app.begin().await?;
    }
    if let Some(marked) = discussed.mark_copied(&attempt).await? {
        return Ok(marked);
    }
    match store::settled(app, &discussed.parent).await? {
        Some(still) if still.id == discussed.id && still.uncopied().is_none() => Ok(still),
        _ => Err(attempt.overdue()),
    }
}
