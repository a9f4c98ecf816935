//! What a comment's outbox says is carried out: the discussed document is told, then the author's list, then
//! the outbox is emptied. A caller, a repeat and the sweep do the same.

use mongodb::bson::Document;

use super::{
    super::{
        documents::{CommentDocument, DueKind, OpenDiscussion, Parent, Taken},
        store::{self, By, Place},
    },
    reads::newest,
};
use crate::{app::App, error::Error, mongo::Run};

/// How the outbox of a comment came out.
#[derive(Debug)]
pub(super) enum Finished {
    /// It is empty; the comment as it is now.
    Done(CommentDocument),
    /// The discussion moved to another store before it took the comment: post it there.
    Moved(OpenDiscussion),
    /// The discussion takes the comment no more; it was withdrawn.
    Withdrawn,
    /// It was given up by someone else; it was withdrawn.
    GivenUp,
}

/// Carries out what is due of a comment in the store that is posted to now. `seen` guards what is posted.
pub(super) async fn finish(
    app: &App,
    run: &Run,
    parent: &Parent,
    discussion: &OpenDiscussion,
    comment: CommentDocument,
    seen: Document,
) -> Result<Finished, Error> {
    let Some(due) = comment.due.clone() else { return Ok(Finished::Done(comment)) };
    match due.kind {
        DueKind::Post if discussion.taken(&comment.id).is_none_or(|taken| taken.void) => {
            match posted(app, run, parent, discussion, &comment, seen).await? {
                Posted::Taken => {}
                Posted::Moved(discussion) => return Ok(Finished::Moved(*discussion)),
                Posted::Withdrawn => return Ok(Finished::Withdrawn),
                Posted::GivenUp => return Ok(Finished::GivenUp),
            }
        }
        DueKind::Post => {}
        DueKind::Edit | DueKind::Remove => told(app, run, parent, discussion, &comment).await?,
    }
    let place = Place::now(parent, discussion);
    if !place.storage().lists_authors() {
        store::put_authored(app, &place.discussion, std::slice::from_ref(&comment)).await?;
    }
    settle(app, run, &place, comment).await
}

/// Empties the outbox.
async fn settle(
    app: &App,
    run: &Run,
    place: &Place,
    comment: CommentDocument,
) -> Result<Finished, Error> {
    let tag = comment.due.as_ref().map(|due| due.tag.clone()).unwrap_or_default();
    let storage = place.storage();
    let settled = storage.settle(app, place, &comment.id, &tag, run).await;
    if let Some(comment) = settled.decided()? {
        return Ok(Finished::Done(comment));
    }
    let now = store::settled(app, &place.parent).await?;
    let done = CommentDocument { due: None, ..comment };
    match now.filter(|now| now.id == place.discussion) {
        // The store was sealed: the next one has it, with what is due.
        Some(now) if now.epoch != place.epoch => Ok(Finished::Moved(*now)),
        None => Ok(Finished::Done(done)),
        Some(_) => match storage.find(app, place, By::Id(&done.id)).await? {
            Some(now) if now.due.as_ref().is_none_or(|due| due.tag != tag) => {
                Ok(Finished::Done(now))
            }
            Some(_) => Err(run.overdue()),
            None => Ok(Finished::Done(done)),
        },
    }
}

/// What became of a comment that was to be posted.
enum Posted {
    Taken,
    Moved(Box<OpenDiscussion>),
    Withdrawn,
    GivenUp,
}

async fn posted(
    app: &App,
    run: &Run,
    parent: &Parent,
    discussion: &OpenDiscussion,
    comment: &CommentDocument,
    seen: Document,
) -> Result<Posted, Error> {
    let taken = store::take(app, parent, discussion, comment, seen, run).await;
    if taken.decided()?.is_some() {
        return Ok(Posted::Taken);
    }
    let now = store::settled(app, parent).await?;
    let now = now.filter(|now| now.id == discussion.id);
    let place = Place::now(parent, discussion);
    let Some(now) = now else {
        // The discussion is gone: nobody can take it any more.
        let _gone = place.storage().withdraw(app, &place, &comment.id).await.decided()?;
        return Ok(Posted::Withdrawn);
    };
    if now.epoch != discussion.epoch {
        // Also where it was taken: it may have been posted anew by someone else, with another time.
        return Ok(Posted::Moved(now));
    }
    let void = match now.taken(&comment.id) {
        Some(Taken { void: false, .. }) => return Ok(Posted::Taken),
        Some(Taken { void: true, .. }) => true,
        None if run.is_over() => return Err(run.overdue()),
        // Who may see it no more posts nothing.
        None => store::void(app, parent, &now, &comment.id, run).await.decided()?.is_some(),
    };
    if !void {
        // Someone was quicker, one way or the other.
        return Err(Error::unavailable("a comment was taken and given up at once"));
    }
    let was_void = now.taken(&comment.id).is_some();
    let _gone = place.storage().withdraw(app, &place, &comment.id).await.decided()?;
    Ok(if was_void { Posted::GivenUp } else { Posted::Withdrawn })
}

/// Tells the discussed document of an edit or a removal.
async fn told(
    app: &App,
    run: &Run,
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
        // A removal makes room for an older comment among the newest.
        let newest =
            if comment.removed.is_some() { newest(app, parent, &now).await? } else { Vec::new() };
        let given = store::give(app, parent, &now, comment, &newest, run).await;
        if given.decided()?.is_some() {
            return Ok(());
        }
        if run.is_over() {
            return Err(run.overdue());
        }
    }
}
