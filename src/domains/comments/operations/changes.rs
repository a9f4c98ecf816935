//! Edits and removes comments. The comment is the decider. Its outbox holds one entry for the discussed
//! document; an entry that is still there is applied before the next change.

use async_graphql::ID;
use mongodb::bson::{DateTime, Document};

use super::{
    super::{
        documents::{CommentDocument, Due, DueKind, OpenDiscussion, Parent, Removed, Remover},
        store::{self, By, Place},
        types::{
            CommentConflict, CommentRemoved, EditCommentInput, EditCommentResult, EditWindowOver,
            RemoveCommentResult,
        },
    },
    TEXT, begin, checked_slug,
    copy::carry,
    finish::{Finished, finish},
    no_comment, no_parent, parent_of, uncrowded,
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::{
        input,
        refusals::{InvalidInput, NotFound, Stop},
        requester::{Requester, Role},
    },
};

/// Changes the text, and the stars of a review. Only the author may do so, and only within the edit window.
pub async fn edit(
    app: &App,
    requester: &Requester,
    change: &EditCommentInput,
) -> Result<CommentDocument, Stop<EditCommentResult>> {
    let author = requester.subject()?;
    let parent = parent_of(&change.on)?;
    let slug = checked_slug(&change.slug)?;
    let text = input::text("text", &change.text, 1..=TEXT)?;
    let nonce = input::verbatim("version", &change.version, 1..=128)?;
    if let Some(stars) = change.stars {
        input::within("stars", stars.into(), 1..=5)?;
    }
    // The next nonce is derived from this one and the content, so that a repeat is recognised by it.
    let digest = app.ids().op(&["editComment"], None, &(&text, change.stars)).input;
    let next = app.ids().derived(&["nonce", &slug, author, &nonce, &digest]);
    let (attempt, discussion) = begin(app, &parent, requester).await?;
    let mut desk = Desk { app, attempt, parent, discussion: discussion?, slug };
    loop {
        let old = desk.comment().await?.filter(|comment| comment.author == author);
        let Some(old) = old else { return Err(no_comment(&desk.slug).into()) };
        if old.due.is_none() {
            if old.nonce == next {
                return Ok(old);
            }
            if old.removed.is_some() {
                return Err(CommentRemoved::new(desk.slug).into());
            }
            if old.nonce != nonce {
                return Err(CommentConflict::with(old).into());
            }
            if change.stars.is_some() && old.stars.is_none() {
                return Err(InvalidInput::new("stars", "are for reviews only").into());
            }
            let earliest = earliest(app, &desk.attempt);
            if old.at <= earliest {
                return Err(EditWindowOver::new(app.config().comment_edit_seconds).into());
            }
            uncrowded(&desk.discussion)?;
            let new = edited(&desk.attempt, &old, &text, change.stars, &next);
            let place = Place::now(&desk.parent, &desk.discussion);
            let edit = place.storage().edit(app, &place, &old, &new, earliest, &desk.attempt).await;
            if let Some(edited) = edit.decided()?
                && let Some(done) = desk.finish(edited).await?
            {
                return Ok(done);
            }
        } else {
            // An earlier change is finished first.
            desk.finish(old).await?;
        }
        desk.again().await?;
    }
}

/// Removes a comment; its place in the thread stays. The author or a moderator may do so.
pub async fn remove(
    app: &App,
    requester: &Requester,
    on: &ID,
    slug: &str,
) -> Result<CommentDocument, Stop<RemoveCommentResult>> {
    let subject = requester.subject()?;
    let parent = parent_of(on)?;
    let slug = checked_slug(slug)?;
    let (attempt, discussion) = begin(app, &parent, requester).await?;
    let mut desk = Desk { app, attempt, parent, discussion: discussion?, slug };
    loop {
        let old = desk
            .comment()
            .await?
            .filter(|comment| comment.author == subject || requester.has(Role::Moderator));
        let Some(old) = old else { return Err(no_comment(&desk.slug).into()) };
        if old.due.is_none() {
            if old.removed.is_some() {
                return Ok(old);
            }
            let by = if old.author == subject { Remover::Author } else { Remover::Moderator };
            uncrowded(&desk.discussion)?;
            let new = blank(app, &desk.attempt, &old, by);
            let place = Place::now(&desk.parent, &desk.discussion);
            let removal = place.storage().blank(app, &place, &old, &new, &desk.attempt).await;
            if let Some(removed) = removal.decided()?
                && let Some(done) = desk.finish(removed).await?
            {
                return Ok(done);
            }
        } else {
            desk.finish(old).await?;
        }
        desk.again().await?;
    }
}

/// State of the change of one comment.
struct Desk<'a> {
    app: &'a App,
    attempt: Attempt,
    parent: Parent,
    discussion: OpenDiscussion,
    slug: String,
}

impl Desk<'_> {
    /// The comment in the store where it can be changed; `None` if it isn't posted yet.
    async fn comment(&mut self) -> Result<Option<CommentDocument>, Error> {
        if self.discussion.uncopied().is_some() {
            self.discussion =
                carry(self.app, &self.attempt, &self.parent, &self.discussion).await?;
        }
        let place = Place::now(&self.parent, &self.discussion);
        let found = place.storage().find(self.app, &place, By::Slug(&self.slug)).await?;
        Ok(found.filter(|comment| !comment.is_unposted()))
    }

    /// Applies the outbox; `None` if the discussion, and the comment with it, moved meanwhile.
    async fn finish(&mut self, comment: CommentDocument) -> Result<Option<CommentDocument>, Error> {
        let (app, attempt, parent) = (self.app, &self.attempt, &self.parent);
        let seen = Document::new();
        match finish(app, attempt, parent, &self.discussion, comment, seen).await? {
            Finished::Done(comment) => Ok(Some(comment)),
            Finished::Moved(moved) => {
                self.discussion = moved;
                Ok(None)
            }
            Finished::Withdrawn | Finished::GivenUp => {
                Err(Error::internal("a posted comment was withdrawn"))
            }
        }
    }

    /// Reads the discussion again, after a refusal or after an earlier change was finished.
    async fn again<U: From<NotFound>>(&mut self) -> Result<(), Stop<U>> {
        if self.attempt.is_over() {
            return Err(self.attempt.overdue().into());
        }
        let now = store::settled(self.app, &self.parent).await?;
        let same = now.filter(|now| now.id == self.discussion.id);
        let gone = || no_parent(&self.parent);
        self.discussion = *same.ok_or_else(gone)?;
        Ok(())
    }
}

/// Time before which comments can't be edited any more.
fn earliest(app: &App, attempt: &Attempt) -> DateTime {
    let window = i64::try_from(app.config().comment_edit_seconds).unwrap_or(i64::MAX);
    let window = window.saturating_mul(1_000);
    DateTime::from_millis(attempt.now().timestamp_millis().saturating_sub(window))
}

fn edited(
    attempt: &Attempt,
    old: &CommentDocument,
    text: &str,
    stars: Option<i32>,
    nonce: &str,
) -> CommentDocument {
    let version = old.version + 1;
    let stars = stars.or(old.stars);
    let due = Due {
        kind: DueKind::Edit,
        tag: format!("{}:{version}", old.id),
        at: attempt.now(),
        count: 0,
        reviews: 0,
        stars: stars.unwrap_or_default() - old.stars.unwrap_or_default(),
    };
    CommentDocument {
        text: text.to_owned(),
        stars,
        nonce: nonce.to_owned(),
        version,
        edited_at: Some(attempt.now()),
        due: Some(due),
        ..old.clone()
    }
}

fn blank(app: &App, attempt: &Attempt, old: &CommentDocument, by: Remover) -> CommentDocument {
    let version = old.version + 1;
    let due = Due {
        kind: DueKind::Remove,
        tag: format!("{}:{version}", old.id),
        at: attempt.now(),
        count: -1,
        reviews: -i32::from(old.stars.is_some()),
        stars: -old.stars.unwrap_or_default(),
    };
    CommentDocument {
        text: String::new(),
        stars: None,
        nonce: app.ids().random(),
        version,
        removed: Some(Removed { at: attempt.now(), by }),
        due: Some(due),
        ..old.clone()
    }
}
