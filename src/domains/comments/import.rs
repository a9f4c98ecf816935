//! Bulk import of comments and reviews of products: `docgate import discussions`.
//!
//! ```json
//! {"sku": "ALB-1", "key": "c-1", "author": "ann", "at": "2024-05-01T12:00:00Z", "text": "Which pressing?"}
//! {"sku": "ALB-1", "key": "c-2", "author": "bob", "at": "2024-05-02T08:30:00Z", "text": "The first.",
//!  "replyTo": {"key": "c-1"}}
//! {"sku": "ALB-1", "author": "eve", "at": "2024-06-01T10:00:00Z", "text": "A wonder.", "stars": 5}
//! ```
//!
//! A comment is identified by its key, a review by its author. Their ids are derived from these, so that a
//! line can be imported again at any time. Existing comments stay unchanged.
//!
//! The comments on one product are posted at once, as if they had been posted at their own times. It is the flow of a
//! single post with shared commands: the comments are inserted with an outbox entry and are still invisible, one
//! update of the product commits all of them, then their outboxes are emptied. An interruption leaves comments that
//! the sweep posts one by one, or that a repeat of the import commits.
//!
//! The marks on the product are removed at once, so that a long import doesn't fill it with marks. That is
//! safe for comments that this attempt has inserted: nothing else can commit them. A sweep reads pending
//! comments only after this attempt is over, other imports wait for the lease, and a review by the same
//! author at the same time has another origin. Marks of comments that an earlier attempt has left are removed
//! by the sweep.

mod checks;

use std::collections::{BTreeMap, HashMap, HashSet};

use futures_util::{StreamExt, TryStreamExt, stream};

use super::{
    documents::{CommentDocument, Layout, Parent},
    operations::{begin_or_open, demand_depth, demand_room, review_id},
    store::{self, DiscussionHandle},
};
use crate::{flow::lease::Lease, graphql::prelude::*, mongo::prelude::*};
pub use checks::check;
use checks::{checked, subject};

/// One line of the import.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportComment {
    pub sku: String,
    /// The shop's own key of a comment; reviews have none.
    #[serde(default)]
    pub key: Option<String>,
    /// Subject of the author.
    pub author: String,
    /// Time of the comment in RFC 3339 format.
    pub at: String,
    pub text: String,
    /// Stars of a review, one to five.
    #[serde(default)]
    pub stars: Option<i32>,
    /// The comment that this one replies to; absent at the top level.
    #[serde(default)]
    pub reply_to: Option<ImportKey>,
}

/// Identity of a comment on a product across imports.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ImportKey {
    /// A comment: the key under which it was imported.
    #[serde(rename = "key")]
    Comment(String),
    /// A review: its author.
    #[serde(rename = "reviewBy")]
    Review(String),
}

/// A checked line.
struct Line {
    /// Position in the batch.
    position: usize,
    /// Its identity.
    key: ImportKey,
    at: DateTime,
    /// Digest of the line.
    origin: String,
    /// The line, normalised.
    comment: ImportComment,
}

impl ImportKey {
    /// Id of the comment in this discussion.
    fn id(&self, on: &DiscussionHandle<'_>) -> String {
        match self {
            Self::Comment(key) => on.app.ids().derived(&["importComment", &on.id, key]),
            Self::Review(author) => review_id(on.app, &on.id, author),
        }
    }

    /// The field of a reply that holds it.
    fn field(&self) -> &'static str {
        match self {
            Self::Comment(_) => "replyTo.key",
            Self::Review(_) => "replyTo.reviewBy",
        }
    }

    /// Checks the key of a comment to reply to.
    fn checked(&self) -> Result<Self, InvalidInput> {
        match self {
            Self::Comment(key) => Ok(Self::Comment(input::key(self.field(), key)?)),
            Self::Review(author) => Ok(Self::Review(subject(self.field(), author)?)),
        }
    }
}

/// Lines that are posted within one attempt.
const BATCH: usize = 250;
/// Products whose lines are posted in parallel.
const AT_ONCE: usize = 16;
/// Length of the short name in a slug. It is long enough for any number of comments: a name collision can't
/// be distinguished from a repeat here.
const NAME: usize = 16;
/// Lease of imports: only one runs at a time.
const LOCK: &str = "comments.import";

/// Imports `lines`. Returns for each line, in the same order, why it was refused, if it was.
///
/// # Errors
/// Some of the lines may have been imported; the import can be repeated.
pub async fn import(app: &App, lines: &[ImportComment]) -> Result<Vec<Result<(), InvalidInput>>> {
    let mut answers = Vec::with_capacity(lines.len());
    for batch in lines.chunks(BATCH) {
        answers.extend(import_batch(app, batch).await?);
    }
    Ok(answers)
}

async fn import_batch(app: &App, lines: &[ImportComment]) -> Result<Vec<Result<(), InvalidInput>>> {
    let holder = app.ids().random();
    let (lease, attempt) = Lease::wait_for(app.collection(), LOCK, holder, app.bounds()).await?;
    let mut answers = Vec::with_capacity(lines.len());
    let mut products: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for (position, line) in lines.iter().enumerate() {
        let checked = checked(position, line, attempt.now());
        let add = |line: Line| products.entry(line.comment.sku.clone()).or_default().push(line);
        answers.push(checked.map(add));
    }
    let posted = stream::iter(products)
        .map(async |(sku, lines)| post_all(app, &attempt, &sku, lines).await)
        .buffer_unordered(AT_ONCE)
        .try_collect::<Vec<_>>()
        .await;
    lease.end(posted.is_ok()).await;
    for (position, refused) in posted?.into_iter().flatten() {
        answers[position] = Err(refused);
    }
    Ok(answers)
}

/// Posts the lines of one product under the lease. Returns the positions of the lines that can't be used, each with the
/// reason. Comments that were posted before stay.
///
/// # Errors
/// The same lines may be posted again.
async fn post_all(
    app: &App,
    attempt: &Attempt,
    sku: &str,
    lines: Vec<Line>,
) -> Result<Vec<(usize, InvalidInput)>> {
    let parent = product(sku)?;
    let anyone = Requester::default();
    let cx = Cx { app, requester: &anyone };
    let unusable = match begin_or_open::<NotFound>(cx, &parent, Layout::PerDocument).await {
        Ok((_, on)) => match closed(&on) {
            Some(closed) => closed,
            None => return Bulk::post(attempt, &on, lines, parent.kind.seen_by(&anyone)).await,
        },
        Err(Stop::Refused(_)) => NO_PRODUCT,
        Err(Stop::Failed(error)) => return Err(error),
    };
    let refused = |line: Line| (line.position, InvalidInput::new("sku", unusable));
    Ok(lines.into_iter().map(refused).collect())
}

/// The reason of a line whose product doesn't exist.
const NO_PRODUCT: &str = "there is no such product";

/// The discussed document of a SKU.
fn product(sku: &str) -> Result<Parent> {
    let none = || Error::internal("products can't be discussed");
    Parent::of(&NodeKind::PRODUCT.id(sku)).ok_or_else(none)
}

/// The reason why a discussion takes no imports, if it takes none.
fn closed(on: &DiscussionHandle<'_>) -> Option<&'static str> {
    if on.migration.is_some() {
        return Some("has a discussion that is just moving to another layout");
    }
    let is_other = on.layout != Layout::PerDocument;
    is_other.then_some("has a discussion of another layout than PER_DOCUMENT: move it first")
}

/// Comments on one product that are posted together.
struct Bulk<'a> {
    attempt: &'a Attempt,
    on: &'a DiscussionHandle<'a>,
    /// Stored comments that the lines refer to, and the ones that are added.
    there: HashMap<String, CommentDocument>,
    /// Comments to insert.
    fresh: Vec<CommentDocument>,
    /// Ids of the comments to commit: of these, and of those that were inserted before.
    due: HashSet<String>,
}

impl<'a> Bulk<'a> {
    /// Reads the comments that the lines refer to, adds the lines, and inserts, commits and settles the comments.
    async fn post(
        attempt: &'a Attempt,
        on: &'a DiscussionHandle<'a>,
        lines: Vec<Line>,
        seen: Document,
    ) -> Result<Vec<(usize, InvalidInput)>> {
        demand_room(on, None)?;
        let store = on.store();
        let keys = lines.iter().flat_map(|line| [Some(&line.key), line.comment.reply_to.as_ref()]);
        let ids: HashSet<String> = keys.flatten().map(|key| key.id(on)).collect();
        let there = store.find_all(&Vec::from_iter(ids)).await?;
        let there = there.into_iter().map(|comment| (comment.id.clone(), comment)).collect();
        let mut bulk = Self { attempt, on, there, fresh: Vec::new(), due: HashSet::new() };
        let mut refused = Vec::new();
        for line in lines {
            let position = line.position;
            refused.extend(bulk.add(line).err().map(|invalid| (position, invalid)));
        }
        let Self { there, fresh, due, .. } = bulk;
        let is_new = store::insert_all(on.app, &fresh).await?;
        if due.is_empty() {
            return Ok(refused);
        }
        let due: Vec<_> = due.iter().filter_map(|id| there.get(id)).collect();
        let is_aborted =
            |comment: &&CommentDocument| on.mark(&comment.id).is_some_and(|mark| mark.void);
        let mut uncommitted = due.clone();
        uncommitted.retain(|comment| on.mark(&comment.id).is_none());
        let is_posted = is_new
            && !due.iter().any(is_aborted)
            && (uncommitted.is_empty() || on.commit(&uncommitted, seen, attempt).await?)
            && store.settle_all(&due, attempt).await?;
        if !is_posted {
            return Err(Error::unavailable("the discussion changed while comments were imported"));
        }
        let tags: Vec<_> = fresh.into_iter().map(|comment| comment.id).collect();
        if !tags.is_empty() {
            on.forget_marks(&tags, attempt).await?;
        }
        Ok(refused)
    }

    /// Adds a line, or returns why it can't be used.
    fn add(&mut self, Line { key, at, origin, comment, .. }: Line) -> Result<(), InvalidInput> {
        let id = key.id(self.on);
        if let Some(there) = self.there.get(&id) {
            if there.origin != origin {
                let (field, reason) = match key {
                    ImportKey::Comment(_) => ("key", "is that of another comment on the product"),
                    ImportKey::Review(_) => ("author", "has reviewed the product already"),
                };
                return Err(InvalidInput::new(field, reason));
            }
            if there.is_unposted() {
                self.due.insert(id);
            }
            return Ok(());
        }
        let above = comment.reply_to.as_ref().map(|key| self.replied_to(key)).transpose()?;
        let draft = CommentDocument {
            origin,
            text_version: self.on.app.ids().random(),
            text: comment.text,
            stars: comment.stars,
            ..CommentDocument::draft(id.clone(), &self.on.parent, &comment.author, above)
        };
        let name = CommentDocument::short(&id, NAME);
        let comment = self.on.store().as_posted(&draft, &name, at, self.attempt.now());
        self.there.insert(id.clone(), comment.clone());
        self.fresh.push(comment);
        self.due.insert(id);
        Ok(())
    }

    /// The comment to reply to. It is posted, or will be with the others.
    fn replied_to(&self, key: &ImportKey) -> Result<&CommentDocument, InvalidInput> {
        let field = key.field();
        let invalid = |reason: &str| InvalidInput::new(field, reason);
        let is_posted =
            |comment: &&CommentDocument| !comment.is_unposted() || self.due.contains(&comment.id);
        let comment = self.there.get(&key.id(self.on)).filter(is_posted).ok_or_else(|| {
            invalid("there is none on the product; comments come before their replies")
        })?;
        if comment.removed.is_some() {
            return Err(invalid("was removed"));
        }
        demand_depth(comment, field)?;
        Ok(comment)
    }
}
