//! Posting many comments on one product at once, as if they had been posted at their own times.
//!
//! It is the flow of a single post with its commands shared: the comments are inserted `due`, which nobody
//! sees, one update of the product takes all of them, then the marks go. A cut leaves comments that the
//! sweep posts one by one, or that a repeat of the import takes.
//!
//! What the product was told is forgotten at once, so that a long import doesn't fill it with marks. That is
//! safe for comments that this very run has inserted: nobody else can take them. A sweep looks at what is
//! due only when this run is over, other imports wait for the lease, and a review by the same author at the
//! same time has another origin. Marks of comments that an earlier run has left are the sweep's.

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
    graphql::{refusals::InvalidInput, requester::Requester},
    mongo::{Run, Version},
};

/// By what a comment on a product is known again.
#[derive(Debug, Clone)]
pub(in super::super) enum Known {
    /// The key under which it was imported.
    Comment(String),
    /// The author of a review.
    Review(String),
}

impl Known {
    fn id(&self, app: &App, discussion: &str) -> String {
        match self {
            Self::Comment(key) => app.ids().derived(&["importComment", discussion, key]),
            Self::Review(author) => super::post::review_id(app, discussion, author),
        }
    }

    /// Another one is known by the same.
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

/// A comment that is to be posted, checked.
#[derive(Debug)]
pub(in super::super) struct Line {
    /// Where it stands in the batch.
    pub(in super::super) position: usize,
    /// By what it is known again.
    pub(in super::super) known: Known,
    /// Subject of who wrote it.
    pub(in super::super) author: String,
    /// When.
    pub(in super::super) at: DateTime,
    /// What it says.
    pub(in super::super) text: String,
    /// Of a review.
    pub(in super::super) stars: Option<i32>,
    /// What it replies to.
    pub(in super::super) reply_to: Option<Known>,
    /// Digest of the line.
    pub(in super::super) origin: String,
}

/// Characters of the short name in a slug: long enough for any number of comments, as a name that is taken
/// can't be told from a repeat here.
const NAME: usize = 16;

/// Posts the lines of one product under the lease of imports; answers with the positions of those that
/// can't be used, and why. What was posted before stays.
///
/// # Errors
/// Trouble: the same lines may be posted again.
pub(in super::super) async fn post_all(
    app: &App,
    run: &Run,
    sku: &str,
    lines: Vec<Line>,
) -> Result<Vec<(usize, InvalidInput)>, Error> {
    let parent = Parent { kind: ParentKind::Product, key: sku.to_owned() };
    let discussion = match opened(app, run, &parent).await? {
        Ok(discussion) => discussion,
        Err(reason) => {
            let refused = |line: Line| (line.position, InvalidInput::new("sku", reason));
            return Ok(lines.into_iter().map(refused).collect());
        }
    };
    let mut bulk = Bulk::read(app, run, parent, discussion, &lines).await?;
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

/// The product's discussion, opened where there is none; or why nothing can be posted to it.
async fn opened(
    app: &App,
    run: &Run,
    parent: &Parent,
) -> Result<Result<OpenDiscussion, &'static str>, Error> {
    let anyone = anyone();
    let discussion = match store::open(app, parent, &anyone).await?.1 {
        None => return Ok(Err("there is no such product")),
        Some(Some(discussion)) => discussion,
        Some(None) => {
            let seen = parent.kind.seen_by(&anyone);
            let opened = store::open_discussion(app, parent, Layout::PerDocument, seen, run).await;
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

/// The comments of one product that are posted together.
struct Bulk<'a> {
    app: &'a App,
    run: &'a Run,
    parent: Parent,
    discussion: OpenDiscussion,
    place: Place,
    /// Comments that are there and of which the lines speak, and those that are added.
    there: HashMap<String, CommentDocument>,
    /// Those that are to be inserted.
    fresh: Vec<CommentDocument>,
    /// Those that were inserted before and that nobody sees yet.
    left: HashSet<String>,
}

impl<'a> Bulk<'a> {
    async fn read(
        app: &'a App,
        run: &'a Run,
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
        Ok(Self { app, run, parent, discussion, place, there, fresh, left })
    }

    /// Takes a line up, or says why it can't be used.
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

    /// Slug and sort key of the comment that is replied to.
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
            at: self.run.now(),
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

    /// Inserts, takes and settles.
    async fn post(self) -> Result<(), Error> {
        let (app, run, parent) = (self.app, self.run, &self.parent);
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
            let taken = store::take_all(app, parent, &self.discussion, &untaken, seen, run).await;
            taken.decided()?.ok_or_else(meanwhile)?;
        }
        if !store::settle_all(app, &self.place, &due, run).await? {
            return Err(meanwhile());
        }
        let tags: Vec<String> = self.fresh.iter().map(|comment| comment.id.clone()).collect();
        if !tags.is_empty() {
            store::forget_taken(app, parent, &self.discussion, &tags, run).await.decided()?;
        }
        Ok(())
    }
}
