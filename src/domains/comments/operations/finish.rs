//! Carries out a comment's outbox: updates the discussed document, then the copy for the author's list, then
//! empties the outbox. A caller, a repeat and the sweep do the same.

use mongodb::bson::Document;

use super::{
    super::{
        documents::{CommentDocument, DueKind, Mark},
        store::{self, By, Discussed, Place},
    },
    reads::newest,
};
use crate::{error::Error, flow::Attempt};

/// Result of carrying out a comment's outbox.
#[derive(Debug)]
pub(super) enum Finished<'a> {
    /// The outbox is empty; the comment in its current state.
    Done(CommentDocument),
    /// The discussion moved to another store before the comment was committed: post it there.
    Moved(Discussed<'a>),
    /// The discussion doesn't accept the comment any more; the comment was withdrawn.
    Withdrawn,
    /// Another attempt aborted it; the comment was withdrawn.
    Aborted,
}

/// Carries out the outbox of a comment in the current store. `seen` guards the commit of a post.
pub(super) async fn finish<'a>(
    attempt: &Attempt,
    discussed: &Discussed<'a>,
    comment: CommentDocument,
    seen: Document,
) -> Result<Finished<'a>, Error> {
    let Some(due) = comment.due.clone() else { return Ok(Finished::Done(comment)) };
    let is_committed = discussed.mark(&comment.id).is_some_and(|mark| !mark.void);
    if due.kind != DueKind::Post {
        apply(attempt, discussed, &comment).await?;
    } else if !is_committed && let Some(ended) = commit(attempt, discussed, &comment, seen).await? {
        return Ok(ended);
    }
    let place = discussed.place();
    if !place.lists_authors() {
        store::put_authored(place.app, &place.discussion, std::slice::from_ref(&comment)).await?;
    }
    settle(attempt, &place, comment).await
}

/// Empties the outbox.
async fn settle<'a>(
    attempt: &Attempt,
    place: &Place<'a>,
    comment: CommentDocument,
) -> Result<Finished<'a>, Error> {
    let tag = comment.due.as_ref().map(|due| due.tag.clone()).unwrap_or_default();
    if let Some(comment) = place.settle(&comment.id, &tag, attempt).await? {
        return Ok(Finished::Done(comment));
    }
    let now = store::settled(place.app, &place.parent).await?;
    let done = CommentDocument { due: None, ..comment };
    match now.filter(|now| now.id == place.discussion) {
        // The store was sealed: the new one has the comment with its outbox.
        Some(now) if now.epoch != place.epoch => Ok(Finished::Moved(now)),
        None => Ok(Finished::Done(done)),
        Some(_) => match place.find(By::Id(&done.id)).await? {
            Some(now) if now.due.as_ref().is_none_or(|due| due.tag != tag) => {
                Ok(Finished::Done(now))
            }
            Some(_) => Err(attempt.overdue()),
            None => Ok(Finished::Done(done)),
        },
    }
}

/// Commits a post; returns how it ended otherwise.
async fn commit<'a>(
    attempt: &Attempt,
    discussed: &Discussed<'a>,
    comment: &CommentDocument,
    seen: Document,
) -> Result<Option<Finished<'a>>, Error> {
    if discussed.commit(&[comment], seen, attempt).await?.is_some() {
        return Ok(None);
    }
    let now = store::settled(discussed.app, &discussed.parent).await?;
    let place = discussed.place();
    let Some(now) = now.filter(|now| now.id == discussed.id) else {
        // The discussion is gone: nothing can commit the comment any more.
        place.withdraw(&comment.id).await?;
        return Ok(Some(Finished::Withdrawn));
    };
    if now.epoch != discussed.epoch {
        // Also if it was committed: another attempt may have posted it anew, with another time.
        return Ok(Some(Finished::Moved(now)));
    }
    let was_void = match now.mark(&comment.id) {
        Some(Mark { void: false, .. }) => return Ok(None),
        Some(Mark { void: true, .. }) => true,
        None if attempt.is_over() => return Err(attempt.overdue()),
        // A caller who can't see the document any more can't post.
        None if now.void(&comment.id, attempt).await?.is_some() => false,
        // Another attempt has committed or aborted it.
        None => return Err(Error::unavailable("a comment was committed and aborted at once")),
    };
    place.withdraw(&comment.id).await?;
    Ok(Some(if was_void { Finished::Aborted } else { Finished::Withdrawn }))
}

/// Applies an edit or a removal to the discussed document.
async fn apply(
    attempt: &Attempt,
    discussed: &Discussed<'_>,
    comment: &CommentDocument,
) -> Result<(), Error> {
    let tag = comment.due.as_ref().map(|due| due.tag.as_str()).unwrap_or_default();
    loop {
        let now = store::settled(discussed.app, &discussed.parent).await?;
        let is_unapplied = |now: &Discussed<'_>| now.id == discussed.id && now.mark(tag).is_none();
        let Some(now) = now.filter(is_unapplied) else { return Ok(()) };
        // After a removal the newest comments are refilled with an older one.
        let newest = if comment.removed.is_some() { newest(&now).await? } else { Vec::new() };
        if now.apply(comment, &newest, attempt).await?.is_some() {
            return Ok(());
        }
        if attempt.is_over() {
            return Err(attempt.overdue());
        }
    }
}
