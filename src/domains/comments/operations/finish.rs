//! Carries out a comment's outbox: updates the discussed document, then the copy for the author's list, then
//! empties the outbox. A caller, a repeat and the sweep do the same.

use std::slice;

use mongodb::bson::Document;

use super::super::{
    documents::{CommentDocument, Due, DueKind, Mark},
    store::{CommentKey, DiscussionHandle},
};
use crate::graphql::prelude::*;

/// Result of carrying out a comment's outbox.
#[derive(Debug)]
pub(super) enum Finished<'a> {
    /// The outbox is empty; the comment in its current state.
    Done(CommentDocument),
    /// The discussion moved to another store before the comment was committed: post it there.
    Moved(DiscussionHandle<'a>),
}

/// Why a comment isn't posted.
#[derive(Debug)]
pub(super) enum Refused {
    /// The discussion has as many comments as its layout permits: this many.
    Full(i64),
    /// The discussion doesn't accept the comment any more; it was withdrawn.
    Gone,
    /// Another attempt aborted it; it was withdrawn.
    Aborted,
    /// The comment exists with another input.
    OtherInput,
    /// A failure.
    Failed(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Refused {
    /// The failure of a post for which no caller waits. A refusal is none: no caller was told that it was posted.
    pub(super) fn failure<T>(posted: Result<T, Self>) -> Result<()> {
        match posted {
            Err(Self::Failed(error)) => Err(error),
            _ => Ok(()),
        }
    }
}

/// Carries out the outbox of a comment in the current store. `seen` guards the commit of a post.
pub(super) async fn finish<'a>(
    attempt: &Attempt,
    discussed: &DiscussionHandle<'a>,
    comment: CommentDocument,
    seen: Document,
) -> Result<Finished<'a>, Refused> {
    let Some(due) = comment.due.clone() else { return Ok(Finished::Done(comment)) };
    let is_committed = discussed.mark(&comment.id).is_some_and(|mark| !mark.void);
    if due.kind != DueKind::Post {
        apply(attempt, discussed, &comment, &due).await?;
    } else if !is_committed && let Some(moved) = commit(attempt, discussed, &comment, seen).await? {
        return Ok(Finished::Moved(moved));
    }
    discussed.store().put_authored(slice::from_ref(&comment)).await?;
    Ok(settle(attempt, discussed, comment, &due).await?)
}

/// Empties the outbox.
async fn settle<'a>(
    attempt: &Attempt,
    discussed: &DiscussionHandle<'a>,
    comment: CommentDocument,
    due: &Due,
) -> Result<Finished<'a>> {
    let store = discussed.store();
    if let Some(comment) = store.settle(&comment, due, attempt).await? {
        return Ok(Finished::Done(comment));
    }
    let done = CommentDocument { due: None, ..comment };
    let Some(now) = store.discussed().await? else { return Ok(Finished::Done(done)) };
    if now.epoch != store.epoch {
        // The store was sealed: the new one has the comment with its outbox.
        return Ok(Finished::Moved(now));
    }
    let now = store.find(CommentKey::Id(&done.id)).await?.unwrap_or(done);
    if now.due.as_ref().is_some_and(|left| left.tag == due.tag) {
        return Err(attempt.overdue());
    }
    Ok(Finished::Done(now))
}

/// Commits a post. Returns the discussion if it has moved meanwhile.
async fn commit<'a>(
    attempt: &Attempt,
    discussed: &DiscussionHandle<'a>,
    comment: &CommentDocument,
    seen: Document,
) -> Result<Option<DiscussionHandle<'a>>, Refused> {
    if discussed.commit(&[comment], seen, attempt).await? {
        return Ok(None);
    }
    let refused = match discussed.now().await? {
        // The discussion is gone: nothing can commit the comment any more.
        None => Refused::Gone,
        // Also if it was committed: another attempt may have posted it anew, with another time.
        Some(moved) if moved.epoch != discussed.epoch => return Ok(Some(moved)),
        Some(now) => match now.mark(&comment.id) {
            Some(Mark { void: false, .. }) => return Ok(None),
            Some(Mark { void: true, .. }) => Refused::Aborted,
            None if attempt.is_over() => return Err(attempt.overdue().into()),
            // A caller who can't see the document any more can't post.
            None if now.void(&comment.id, attempt).await? => Refused::Gone,
            None => {
                let reason = "another attempt has just committed or aborted the comment";
                return Err(Error::unavailable(reason).into());
            }
        },
    };
    discussed.store().withdraw(&comment.id, attempt).await?;
    Err(refused)
}

/// Applies an edit or a removal to the discussed document.
async fn apply(
    attempt: &Attempt,
    discussed: &DiscussionHandle<'_>,
    comment: &CommentDocument,
    due: &Due,
) -> Result<()> {
    while let Some(now) = discussed.now().await?.filter(|now| now.mark(&due.tag).is_none()) {
        // After a removal the newest comments are refilled with an older one.
        let newest = if comment.removed.is_some() { now.newest().await? } else { Vec::new() };
        if now.apply(comment, due, &newest, attempt).await? {
            break;
        }
        if attempt.is_over() {
            return Err(attempt.overdue());
        }
    }
    Ok(())
}
