//! Posts many comments on one product at once, as if they had been posted at their own times.
//!
//! It is the flow of a single post with shared commands: the comments are inserted with an outbox entry and
//! are still invisible, one update of the product commits all of them, then their outboxes are emptied. An
//! interruption leaves comments that the sweep posts one by one, or that a repeat of the import commits.
//!
//! The marks on the product are removed at once, so that a long import doesn't fill it with marks. That is
//! safe for comments that this attempt has inserted: nothing else can commit them. A sweep reads pending
//! comments only after this attempt is over, other imports wait for the lease, and a review by the same
//! author at the same time has another origin. Marks of comments that an earlier attempt has left are removed
//! by the sweep.

use std::collections::{HashMap, HashSet};

use mongodb::bson::DateTime;

use super::{
    super::{
        documents::{CommentDocument, Due, DueKind, Layout, OpenDiscussion, Parent, ParentKind},
        store::{self, Place},
    },
    LEVELS, uncrowded,
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::{refusals::InvalidInput, requester::Requester},
    mongo::Version,
};

/// Identity of a comment on a product across imports.
#[derive(Debug, Clone)]
pub(in super::super) enum Known {
    /// A comment: the key under which it was imported.
    Comment(String),
    /// A review: its author.
    Review(String),
}

impl Known {
    fn id(&self, app: &App, discussion: &str) -> String {
        match self {
            Self::Comment(key) => app.ids().derived(&["importComment", discussion, key]),
            Self::Review(author) => super::post::review_id(app, discussion, author),
        }
    }

    /// The error of a line whose identity another comment has.
    fn taken(&self) -> InvalidInput {
        match self {
            Self::Comment(_) => {
                InvalidInput::new("key", "is that of another comment on the product")
            }
            Self::Review(_) => InvalidInput::new("author", "has reviewed the product already"),
        }
    }

    fn field(&self) -> &'static str {
        match self {
            Self::Comment(_) => "replyTo.key",
            Self::Review(_) => "replyTo.reviewBy",
        }
    }
}

/// A checked comment that is to be posted.
#[derive(Debug)]
pub(in super::super) struct Line {
    /// Position in the batch.
    pub(in super::super) position: usize,
    /// Its identity.
    pub(in super::super) known: Known,
    /// Subject of the author.
    pub(in super::super) author: String,
    /// Time of the comment.
    pub(in super::super) at: DateTime,
    /// Text of the comment.
    pub(in super::super) text: String,
    /// Stars of a review.
    pub(in super::super) stars: Option<i32>,
    /// The comment that it replies to.
    pub(in super::super) reply_to: Option<Known>,
    /// Digest of the line.
    pub(in super::super) origin: String,
}

/// Length of the short name in a slug. It is long enough for any number of comments: a name collision can't
/// be distinguished from a repeat here.
const NAME: usize = 16;

/// Posts the lines of one product under the lease of imports. Returns the positions of the lines that can't
/// be used, each with the reason. Comments that were posted before stay.
///
/// # Errors
/// The same lines may be posted again.
pub(in super::super) async fn post_all(
    app: &App,
    attempt: &Attempt,
    sku: &str,
    lines: Vec<Line>,
) -> Result<Vec<(usize, InvalidInput)>, Error> {
    let parent = Parent { kind: ParentKind::Product, key: sku.to_owned() };
    let discussion = match opened(app, attempt, &parent).await? {
        Ok(discussion) => discussion,
        Err(reason) => {
            let refused = |line: Line| (line.position, InvalidInput::new("sku", reason));
            return Ok(lines.into_iter().map(refused).collect());
        }
    };
    let mut bulk = Bulk::read(app, attempt, parent, discussion, &lines).await?;
    let mut refused = Vec::new();
    for line in lines {
        let position = line.position;
        if let Err(invalid) = bulk.add(line) {
            refused.push((position, invalid));
        }
    }
    bulk.post().await?;
    Ok(refused)
}

/// The product's discussion, opened if there is none, or the reason why nothing can be posted to it.
async fn opened(
    app: &App,
    attempt: &Attempt,
    parent: &Parent,
) -> Result<Result<OpenDiscussion, &'static str>, Error> {
    let anyone = anyone();
    let discussion = match store::open(app, parent, &anyone).await?.1 {
        None => return Ok(Err("there is no such product")),
        Some(Some(discussion)) => discussion,
        Some(None) => {
            let seen = parent.kind.seen_by(&anyone);
            let opened =
                store::open_discussion(app, parent, Layout::PerDocument, seen, attempt).await;
            opened.decided()?.ok_or_else(meanwhile)?
        }
    };
    if discussion.migration.is_some() {
        return Ok(Err("has a discussion that is just moving to another layout"));
    }
    if discussion.layout != Layout::PerDocument {
        return Ok(Err("has a discussion of another layout than PER_DOCUMENT: move it first"));
    }
    uncrowded(&discussion)?;
    Ok(Ok(discussion))
}

fn anyone() -> Requester {
    Requester { subject: None, roles: Vec::new() }
}

fn meanwhile() -> Error {
    Error::unavailable("the discussion changed while comments were imported")
}

/// Comments of one product that are posted together.
struct Bulk<'a> {
    app: &'a App,
    attempt: &'a Attempt,
    parent: Parent,
    discussion: OpenDiscussion,
    place: Place,
    /// Stored comments that the lines refer to, and the ones that are added.
    there: HashMap<String, CommentDocument>,
    /// Comments to insert.
    fresh: Vec<CommentDocument>,
    /// Comments that were inserted before and aren't committed yet.
    left: HashSet<String>,
}

impl<'a> Bulk<'a> {
    async fn read(
        app: &'a App,
        attempt: &'a Attempt,
        parent: Parent,
        discussion: OpenDiscussion,
        lines: &[Line],
    ) -> Result<Self, Error> {
        let place = Place::now(&parent, &discussion);
        let known = lines.iter().flat_map(|line| [Some(&line.known), line.reply_to.as_ref()]);
        let ids: HashSet<String> =
            known.flatten().map(|known| known.id(app, &discussion.id)).collect();
        let ids: Vec<String> = ids.into_iter().collect();
        let there = place.storage().find_all(app, &place, &ids).await?;
        let there = there.into_iter().map(|comment| (comment.id.clone(), comment)).collect();
        let (fresh, left) = (Vec::new(), HashSet::new());
        Ok(Self { app, attempt, parent, discussion, place, there, fresh, left })
    }

    /// Adds a line, or returns why it can't be used.
    fn add(&mut self, line: Line) -> Result<(), InvalidInput> {
        let id = line.known.id(self.app, &self.discussion.id);
        match self.there.get(&id) {
            Some(there) if there.origin != line.origin => return Err(line.known.taken()),
            Some(there) => {
                let is_fresh = self.fresh.iter().any(|fresh| fresh.id == id);
                if there.is_unposted() && !is_fresh {
                    self.left.insert(id);
                }
                return Ok(());
            }
            None => {}
        }
        let above = match &line.reply_to {
            Some(known) => self.replied_to(known)?,
            None => (String::new(), String::new()),
        };
        let comment = self.comment(id, line, above);
        self.there.insert(comment.id.clone(), comment.clone());
        self.fresh.push(comment);
        Ok(())
    }

    /// Slug and sort key of the parent comment.
    fn replied_to(&self, known: &Known) -> Result<(String, String), InvalidInput> {
        let invalid = |reason: String| InvalidInput::new(known.field(), reason);
        let id = known.id(self.app, &self.discussion.id);
        let is_posted = |comment: &&CommentDocument| {
            !comment.is_unposted()
                || self.left.contains(&id)
                || self.fresh.iter().any(|fresh| fresh.id == id)
        };
        let comment = self.there.get(&id).filter(is_posted);
        let comment = comment.ok_or_else(|| {
            invalid("there is none on the product; comments come before their replies".to_owned())
        })?;
        if comment.removed.is_some() {
            return Err(invalid("was removed".to_owned()));
        }
        if comment.slug.split('/').count() >= LEVELS {
            return Err(invalid(format!("stands {LEVELS} levels deep, where threads end")));
        }
        Ok((comment.slug.clone(), comment.sort_key.clone()))
    }

    fn comment(&self, id: String, line: Line, above: (String, String)) -> CommentDocument {
        let (reply_to, sort_key) = above;
        let name = CommentDocument::short(&id, NAME);
        let due = Due {
            kind: DueKind::Post,
            tag: id.clone(),
            at: self.attempt.now(),
            count: 1,
            reviews: i32::from(line.stars.is_some()),
            stars: line.stars.unwrap_or_default(),
        };
        CommentDocument {
            key: self.place.key(&id),
            on: self.place.on(),
            parent: self.parent.clone(),
            slug: if reply_to.is_empty() { name.clone() } else { format!("{reply_to}/{name}") },
            reply_to,
            sort_key: format!("{sort_key}{}", CommentDocument::level(line.at, &name)),
            at: line.at,
            author: line.author,
            text: line.text,
            stars: line.stars,
            nonce: self.app.ids().random(),
            id,
            version: 1,
            edited_at: None,
            removed: None,
            origin: line.origin,
            due: Some(due),
            settled_at: None,
            sealed: false,
            v: Version,
        }
    }

    /// Inserts, commits and settles.
    async fn post(self) -> Result<(), Error> {
        let (app, attempt, parent) = (self.app, self.attempt, &self.parent);
        if !store::insert_all(app, &self.fresh).await? {
            return Err(meanwhile());
        }
        let left = self.left.iter().filter_map(|id| self.there.get(id));
        let due: Vec<&CommentDocument> = self.fresh.iter().chain(left).collect();
        if due.is_empty() {
            return Ok(());
        }
        let taken = |comment: &&CommentDocument| self.discussion.taken(&comment.id);
        if due.iter().filter_map(taken).any(|taken| taken.void) {
            return Err(meanwhile());
        }
        let untaken: Vec<_> =
            due.iter().copied().filter(|comment| taken(comment).is_none()).collect();
        if !untaken.is_empty() {
            let seen = parent.kind.seen_by(&anyone());
            let taken =
                store::take_all(app, parent, &self.discussion, &untaken, seen, attempt).await;
            taken.decided()?.ok_or_else(meanwhile)?;
        }
        if !store::settle_all(app, &self.place, &due, attempt).await? {
            return Err(meanwhile());
        }
        let tags: Vec<String> = self.fresh.iter().map(|comment| comment.id.clone()).collect();
        if !tags.is_empty() {
            store::forget_taken(app, parent, &self.discussion, &tags, attempt).await.decided()?;
        }
        Ok(())
    }
}
