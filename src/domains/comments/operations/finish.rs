//! Carries out a comment's outbox: updates the discussed document, then the copy for the author's list, then
//! empties the outbox. A caller, a repeat and the sweep do the same.

use mongodb::bson::Document;

use super::{
    super::{
        documents::{CommentDocument, DueKind, OpenDiscussion, Parent, Taken},
        store::{self, By, Place},
    },
    reads::newest,
};
use crate::{app::App, error::Error, flow::Attempt};

/// Result of carrying out a comment's outbox.
#[derive(Debug)]
pub(super) enum Finished {
    /// The outbox is empty; the comment in its current state.
    Done(CommentDocument),
    /// The discussion moved to another store before the comment was committed: post it there.
    Moved(OpenDiscussion),
    /// The discussion doesn't accept the comment any more; the comment was withdrawn.
    Withdrawn,
    /// Another attempt aborted it; the comment was withdrawn.
    GivenUp,
}

/// Carries out the outbox of a comment in the current store. `seen` guards the commit of a post.
pub(super) async fn finish(
    app: &App,
    attempt: &Attempt,
    parent: &Parent,
    discussion: &OpenDiscussion,
    comment: CommentDocument,
    seen: Document,
) -> Result<Finished, Error> {
    let Some(due) = comment.due.clone() else { return Ok(Finished::Done(comment)) };
    match due.kind {
        DueKind::Post if discussion.taken(&comment.id).is_none_or(|taken| taken.void) => {
            match posted(app, attempt, parent, discussion, &comment, seen).await? {
                Posted::Taken => {}
                Posted::Moved(discussion) => return Ok(Finished::Moved(*discussion)),
                Posted::Withdrawn => return Ok(Finished::Withdrawn),
                Posted::GivenUp => return Ok(Finished::GivenUp),
            }
        }
        DueKind::Post => {}
        DueKind::Edit | DueKind::Remove => told(app, attempt, parent, discussion, &comment).await?,
    }
    let place = Place::now(parent, discussion);
    if !place.storage().lists_authors() {
        store::put_authored(app, &place.discussion, std::slice::from_ref(&comment)).await?;
    }
    settle(app, attempt, &place, comment).await
}

/// Empties the outbox.
async fn settle(
    app: &App,
    attempt: &Attempt,
    place: &Place,
    comment: CommentDocument,
) -> Result<Finished, Error> {
    let tag = comment.due.as_ref().map(|due| due.tag.clone()).unwrap_or_default();
    let storage = place.storage();
    let settled = storage.settle(app, place, &comment.id, &tag, attempt).await;
    if let Some(comment) = settled.decided()? {
        return Ok(Finished::Done(comment));
    }
    let now = store::settled(app, &place.parent).await?;
    let done = CommentDocument { due: None, ..comment };
    match now.filter(|now| now.id == place.discussion) {
        // The store was sealed: the new one has the comment with its outbox.
        Some(now) if now.epoch != place.epoch => Ok(Finished::Moved(*now)),
        None => Ok(Finished::Done(done)),
        Some(_) => match storage.find(app, place, By::Id(&done.id)).await? {
            Some(now) if now.due.as_ref().is_none_or(|due| due.tag != tag) => {
                Ok(Finished::Done(now))
            }
            Some(_) => Err(attempt.overdue()),
            None => Ok(Finished::Done(done)),
        },
    }
}

/// Result of committing a post.
enum Posted {
    Taken,
    Moved(Box<OpenDiscussion>),
    Withdrawn,
    GivenUp,
}

async fn posted(
    app: &App,
    attempt: &Attempt,
    parent: &Parent,
    discussion: &OpenDiscussion,
    comment: &CommentDocument,
    seen: Document,
) -> Result<Posted, Error> {
    let taken = store::take(app, parent, discussion, comment, seen, attempt).await;
    if taken.decided()?.is_some() {
        return Ok(Posted::Taken);
    }
    let now = store::settled(app, parent).await?;
    let now = now.filter(|now| now.id == discussion.id);
    let place = Place::now(parent, discussion);
    let Some(now) = now else {
        // The discussion is gone: nothing can commit the comment any more.
        let _gone = place.storage().withdraw(app, &place, &comment.id).await.decided()?;
        return Ok(Posted::Withdrawn);
    };
    if now.epoch != discussion.epoch {
        // Also if it was committed: another attempt may have posted it anew, with another time.
        return Ok(Posted::Moved(now));
    }
    let void = match now.taken(&comment.id) {
        Some(Taken { void: false, .. }) => return Ok(Posted::Taken),
        Some(Taken { void: true, .. }) => true,
        None if attempt.is_over() => return Err(attempt.overdue()),
        // A caller who can't see the document any more can't post.
        None => store::void(app, parent, &now, &comment.id, attempt).await.decided()?.is_some(),
    };
    if !void {
        // Another attempt has committed or aborted it.
        return Err(Error::unavailable("a comment was taken and given up at once"));
    }
    let was_void = now.taken(&comment.id).is_some();
    let _gone = place.storage().withdraw(app, &place, &comment.id).await.decided()?;
    Ok(if was_void { Posted::GivenUp } else { Posted::Withdrawn })
}

/// Applies an edit or a removal to the discussed document.
async fn told(
    app: &App,
    attempt: &Attempt,
    parent: &Parent,
    discussion: &OpenDiscussion,
    comment: &CommentDocument,
) -> Result<(), Error> {
    let tag = comment.due.as_ref().map(|due| due.tag.as_str()).unwrap_or_default();
    loop {
        let Some(now) = store::settled(app, parent).await? else { return Ok(()) };
        if now.id != discussion.id || now.taken(tag).is_some() {
            return Ok(());
        }
        // After a removal the newest comments are refilled with an older one.
        let newest =
            if comment.removed.is_some() { newest(app, parent, &now).await? } else { Vec::new() };
        let given = store::give(app, parent, &now, comment, &newest, attempt).await;
        if given.decided()?.is_some() {
            return Ok(());
        }
        if attempt.is_over() {
            return Err(attempt.overdue());
        }
    }
}
