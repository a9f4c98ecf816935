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

use mongodb::bson::{DateTime, Document};

use super::{
    super::{
        documents::{CommentDocument, Layout, Parent},
        import::{ImportComment, ImportKey},
        store::{self, CommentStore, DiscussionHandle, Opened},
    },
    demand_depth, demand_room,
    post::review_id,
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::{cx::Cx, node_id::NodeKind, refusals::InvalidInput, requester::Requester},
};

/// A checked comment that is to be posted.
#[derive(Debug)]
pub(in super::super) struct Line {
    /// Position in the batch.
    pub(in super::super) position: usize,
    /// Its identity.
    pub(in super::super) key: ImportKey,
    /// Time of the comment.
    pub(in super::super) at: DateTime,
    /// Digest of the line.
    pub(in super::super) origin: String,
    /// The line.
    pub(in super::super) comment: ImportComment,
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
    let no_product = || Error::internal("products can't be discussed");
    let parent = Parent::of(&NodeKind::PRODUCT.id(sku)).ok_or_else(no_product)?;
    let anyone = Requester::default();
    let seen = parent.kind.seen_by(&anyone);
    let cx = Cx { app, requester: &anyone };
    let discussed = match opened(cx, attempt, &parent, seen.clone()).await? {
        Ok(discussed) => discussed,
        Err(reason) => {
            let refused = |line: Line| (line.position, InvalidInput::new("sku", reason));
            return Ok(lines.into_iter().map(refused).collect());
        }
    };
    let mut bulk = Bulk::read(attempt, discussed, &lines).await?;
    let mut refused = Vec::new();
    for line in lines {
        let position = line.position;
        refused.extend(bulk.add(line).err().map(|invalid| (position, invalid)));
    }
    bulk.post(seen).await?;
    Ok(refused)
}

/// The product's discussion, opened if there is none, or the reason why nothing can be posted to it.
async fn opened<'a>(
    cx: Cx<'a>,
    attempt: &Attempt,
    parent: &Parent,
    seen: Document,
) -> Result<Result<DiscussionHandle<'a>, &'static str>, Error> {
    let Opened { is_seen, discussed, .. } = store::open(cx, parent).await?;
    if !is_seen {
        return Ok(Err("there is no such product"));
    }
    let discussed = match discussed {
        Some(discussed) => discussed,
        None => store::open_discussion(cx.app, parent, Layout::PerDocument, seen, attempt)
            .await?
            .ok_or_else(meanwhile)?,
    };
    if discussed.migration.is_some() {
        return Ok(Err("has a discussion that is just moving to another layout"));
    }
    if discussed.layout != Layout::PerDocument {
        return Ok(Err("has a discussion of another layout than PER_DOCUMENT: move it first"));
    }
    demand_room(&discussed)?;
    Ok(Ok(discussed))
}

fn meanwhile() -> Error {
    Error::unavailable("the discussion changed while comments were imported")
}

/// Comments of one product that are posted together.
struct Bulk<'a> {
    attempt: &'a Attempt,
    discussed: DiscussionHandle<'a>,
    store: CommentStore<'a>,
    /// Stored comments that the lines refer to, and the ones that are added.
    there: HashMap<String, CommentDocument>,
    /// Comments to insert.
    fresh: Vec<CommentDocument>,
    /// Comments that were inserted before and aren't committed yet.
    left: HashSet<String>,
}

impl<'a> Bulk<'a> {
    async fn read(
        attempt: &'a Attempt,
        discussed: DiscussionHandle<'a>,
        lines: &[Line],
    ) -> Result<Self, Error> {
        let store = discussed.store();
        let keys = lines.iter().flat_map(|line| [Some(&line.key), line.comment.reply_to.as_ref()]);
        let ids: HashSet<String> = keys.flatten().map(|key| id_of(&discussed, key)).collect();
        let there = store.find_all(&Vec::from_iter(ids)).await?;
        let there = there.into_iter().map(|comment| (comment.id.clone(), comment)).collect();
        Ok(Self { attempt, discussed, store, there, fresh: Vec::new(), left: HashSet::new() })
    }

    /// Adds a line, or returns why it can't be used.
    fn add(&mut self, Line { key, at, origin, comment, .. }: Line) -> Result<(), InvalidInput> {
        let id = id_of(&self.discussed, &key);
        if let Some(there) = self.there.get(&id) {
            if there.origin != origin {
                return Err(match key {
                    ImportKey::Comment(_) => {
                        InvalidInput::new("key", "is that of another comment on the product")
                    }
                    ImportKey::Review(_) => {
                        InvalidInput::new("author", "has reviewed the product already")
                    }
                });
            }
            if !self.is_posted(there) {
                self.left.insert(id);
            }
            return Ok(());
        }
        let above = comment.reply_to.as_ref().map(|key| self.replied_to(key)).transpose()?;
        let name = CommentDocument::short(&id, NAME);
        let draft = CommentDocument {
            origin,
            text_version: self.store.app.ids().random(),
            text: comment.text,
            stars: comment.stars,
            ..CommentDocument::draft(id, &self.store.parent, &comment.author, above)
        };
        let comment = self.store.as_posted(&draft, &name, at, self.attempt.now());
        self.there.insert(comment.id.clone(), comment.clone());
        self.fresh.push(comment);
        Ok(())
    }

    /// Whether the comment is posted, or will be with the others.
    fn is_posted(&self, comment: &CommentDocument) -> bool {
        !comment.is_unposted()
            || self.left.contains(&comment.id)
            || self.fresh.iter().any(|fresh| fresh.id == comment.id)
    }

    /// The comment to reply to.
    fn replied_to(&self, key: &ImportKey) -> Result<&CommentDocument, InvalidInput> {
        let field = match key {
            ImportKey::Comment(_) => "replyTo.key",
            ImportKey::Review(_) => "replyTo.reviewBy",
        };
        let invalid = |reason: &str| InvalidInput::new(field, reason);
        let comment = self.there.get(&id_of(&self.discussed, key));
        let comment = comment.filter(|comment| self.is_posted(comment)).ok_or_else(|| {
            invalid("there is none on the product; comments come before their replies")
        })?;
        if comment.removed.is_some() {
            return Err(invalid("was removed"));
        }
        demand_depth(comment, field)?;
        Ok(comment)
    }

    /// Inserts, commits and settles.
    async fn post(self, seen: Document) -> Result<(), Error> {
        let (attempt, discussed) = (self.attempt, &self.discussed);
        if !store::insert_all(discussed.app, &self.fresh).await? {
            return Err(meanwhile());
        }
        let left = self.left.iter().filter_map(|id| self.there.get(id));
        let due: Vec<&CommentDocument> = self.fresh.iter().chain(left).collect();
        if due.is_empty() {
            return Ok(());
        }
        let mark = |comment: &&CommentDocument| discussed.mark(&comment.id);
        if due.iter().filter_map(mark).any(|mark| mark.void) {
            return Err(meanwhile());
        }
        let uncommitted: Vec<_> =
            due.iter().copied().filter(|comment| mark(comment).is_none()).collect();
        if !uncommitted.is_empty() && !discussed.commit(&uncommitted, seen, attempt).await? {
            return Err(meanwhile());
        }
        if !self.store.settle_all(&due, attempt).await? {
            return Err(meanwhile());
        }
        let tags: Vec<String> = self.fresh.iter().map(|comment| comment.id.clone()).collect();
        if !tags.is_empty() {
            discussed.forget_marks(&tags, attempt).await?;
        }
        Ok(())
    }
}

/// The id of a comment on the product.
fn id_of(discussed: &DiscussionHandle<'_>, key: &ImportKey) -> String {
    match key {
        ImportKey::Comment(key) => {
            discussed.app.ids().derived(&["importComment", &discussed.id, key])
        }
        ImportKey::Review(author) => review_id(discussed.app, &discussed.id, author),
    }
}
