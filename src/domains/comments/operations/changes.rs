//! Editing and removing comments. The comment decides; what the discussed document has to be told is its
//! outbox, which holds one entry: who finds one there carries it out first.

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
    graphql::{
        input,
        refusals::{InvalidInput, NotFound, Stop},
        requester::{Requester, Role},
    },
    mongo::Run,
};

/// Another text, and other stars for a review, by the author and while the edit window is open.
///
/// # Errors
/// A refusal, or trouble.
pub async fn edit(
    app: &App,
    requester: &Requester,
    change: &EditCommentInput,
) -> Result<CommentDocument, Stop<EditCommentResult>> {
    let author = requester.subject()?;
    let parent = parent_of(&change.on)?;
    let slug = checked_slug(&change.slug)?;
    let text = input::text("text", &change.text, 1..=TEXT)?;
    let nonce = input::verbatim("nonce", &change.nonce, 1..=128)?;
    if let Some(stars) = change.stars {
        input::within("stars", stars.into(), 1..=5)?;
    }
    // The next nonce comes from this one and the content, so that a repeat is known by it.
    let digest = app.ids().op(&["editComment"], None, &(&text, change.stars)).input;
    let next = app.ids().derived(&["nonce", &slug, author, &nonce, &digest]);
    let (run, discussion) = begin(app, &parent, requester).await?;
    let mut desk = Desk { app, run, parent, discussion: discussion?, slug };
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
            let earliest = earliest(app, &desk.run);
            if old.at <= earliest {
                return Err(EditWindowOver::new(app.config().comment_edit_seconds).into());
            }
            uncrowded(&desk.discussion)?;
            let new = edited(&desk.run, &old, &text, change.stars, &next);
            let place = Place::now(&desk.parent, &desk.discussion);
            let edit = place.storage().edit(app, &place, &old, &new, earliest, &desk.run).await;
            if let Some(edited) = edit.decided()?
                && let Some(done) = desk.finish(edited).await?
            {
                return Ok(done);
            }
        } else {
            // What was begun before goes first.
            desk.finish(old).await?;
        }
        desk.again().await?;
    }
}

/// Takes a comment away; its place in the thread stays. By the author or a moderator.
///
/// # Errors
/// A refusal, or trouble.
pub async fn remove(
    app: &App,
    requester: &Requester,
    on: &ID,
    slug: &str,
) -> Result<CommentDocument, Stop<RemoveCommentResult>> {
    let subject = requester.subject()?;
    let parent = parent_of(on)?;
    let slug = checked_slug(slug)?;
    let (run, discussion) = begin(app, &parent, requester).await?;
    let mut desk = Desk { app, run, parent, discussion: discussion?, slug };
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
            let new = blank(app, &desk.run, &old, by);
            let place = Place::now(&desk.parent, &desk.discussion);
            let removal = place.storage().blank(app, &place, &old, &new, &desk.run).await;
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

/// What a change of one comment works on.
struct Desk<'a> {
    app: &'a App,
    run: Run,
    parent: Parent,
    discussion: OpenDiscussion,
    slug: String,
}

impl Desk<'_> {
    /// The comment in the store where it can be changed; none that nobody sees yet.
    async fn comment(&mut self) -> Result<Option<CommentDocument>, Error> {
        if self.discussion.uncopied().is_some() {
            self.discussion = carry(self.app, &self.run, &self.parent, &self.discussion).await?;
        }
        let place = Place::now(&self.parent, &self.discussion);
        let found = place.storage().find(self.app, &place, By::Slug(&self.slug)).await?;
        Ok(found.filter(|comment| !comment.is_unposted()))
    }

    /// Carries out what is due; `None` where the discussion moved meanwhile and the comment with it.
    async fn finish(&mut self, comment: CommentDocument) -> Result<Option<CommentDocument>, Error> {
        let (app, run, parent) = (self.app, &self.run, &self.parent);
        let seen = Document::new();
        match finish(app, run, parent, &self.discussion, comment, seen).await? {
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

    /// After a refusal, or behind what was begun before: reads the discussion again.
    async fn again<U: From<NotFound>>(&mut self) -> Result<(), Stop<U>> {
        if self.run.is_over() {
            return Err(self.run.overdue().into());
        }
        let now = store::settled(self.app, &self.parent).await?;
        let same = now.filter(|now| now.id == self.discussion.id);
        let gone = || no_parent(&self.parent);
        self.discussion = *same.ok_or_else(gone)?;
        Ok(())
    }
}

/// Comments that were posted before this can't be edited any more.
fn earliest(app: &App, run: &Run) -> DateTime {
    let window = i64::try_from(app.config().comment_edit_seconds).unwrap_or(i64::MAX);
    let window = window.saturating_mul(1_000);
    DateTime::from_millis(run.now().timestamp_millis().saturating_sub(window))
}

fn edited(
    run: &Run,
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
        at: run.now(),
        count: 0,
        reviews: 0,
        stars: stars.unwrap_or_default() - old.stars.unwrap_or_default(),
    };
    CommentDocument {
        text: text.to_owned(),
        stars,
        nonce: nonce.to_owned(),
        version,
        edited_at: Some(run.now()),
        due: Some(due),
        ..old.clone()
    }
}

fn blank(app: &App, run: &Run, old: &CommentDocument, by: Remover) -> CommentDocument {
    let version = old.version + 1;
    let due = Due {
        kind: DueKind::Remove,
        tag: format!("{}:{version}", old.id),
        at: run.now(),
        count: -1,
        reviews: -i32::from(old.stars.is_some()),
        stars: -old.stars.unwrap_or_default(),
    };
    CommentDocument {
        text: String::new(),
        stars: None,
        nonce: app.ids().random(),
        version,
        removed: Some(Removed { at: run.now(), by }),
        due: Some(due),
        ..old.clone()
    }
}
