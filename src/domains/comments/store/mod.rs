//! Every MongoDB call of comments: the three layouts behind [`Place`], and the discussed documents.

mod copies;
mod embedded;
mod paged;
mod parents;
mod per_document;

pub(super) use copies::{
    list_authored, list_copies, list_stores, list_wrong_pages, put_authored, remove_authored,
};
pub(super) use parents::{
    LATEST, excerpt, find, for_each, list_seen, list_touched, open, open_discussion, reopen,
    settled,
};
pub(super) use per_document::{insert_all, settle_all};

use std::ops::Deref;

use mongodb::bson::{Bson, DateTime, Document, doc};

use super::{
    documents::{CommentDocument, Layout, Migration, OpenDiscussion, PageDocument, Parent},
    types::CommentOrder,
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::page::{Order, Page},
    mongo::{
        Stored,
        expression::{starts_with, stored},
        keyset::SortKey,
    },
};

/// What a read or a guarded write of one document returns.
type Found<T> = Result<Option<T>, Error>;
/// What a read of comments returns.
type All = Result<Vec<CommentDocument>, Error>;

/// A discussion as it was read, with its document. It dereferences to the discussion.
#[derive(Debug, Clone)]
pub(crate) struct Discussed<'a> {
    /// The handles of this gateway.
    pub(super) app: &'a App,
    /// The discussed document.
    pub(super) parent: Parent,
    /// The discussion.
    pub(super) discussion: OpenDiscussion,
}

impl Deref for Discussed<'_> {
    type Target = OpenDiscussion;

    fn deref(&self) -> &OpenDiscussion {
        &self.discussion
    }
}

impl<'a> Discussed<'a> {
    /// The store that comments are posted to now.
    pub(crate) fn place(&self) -> Place<'a> {
        Place {
            app: self.app,
            parent: self.parent.clone(),
            discussion: self.id.clone(),
            epoch: self.epoch,
            layout: self.layout,
        }
    }

    /// The previous store, during a migration.
    pub(crate) fn before(&self) -> Option<Place<'a>> {
        let layout = self.migration.as_ref()?.from;
        Some(Place { layout, epoch: self.epoch - 1, ..self.place() })
    }

    /// The previous store with its migration, while not everything is copied.
    pub(crate) fn uncopied_place(&self) -> Option<(&Migration, Place<'a>)> {
        Some((self.uncopied()?, self.before()?))
    }
}

/// The store of a discussion's comments in one of its epochs. Once the next epoch has begun it is sealed, and
/// nothing in it changes any more.
#[derive(Debug, Clone)]
pub(crate) struct Place<'a> {
    /// The handles of this gateway.
    pub(super) app: &'a App,
    /// The discussed document.
    pub(super) parent: Parent,
    /// Id of the discussion.
    pub(super) discussion: String,
    /// The epoch: each has its own store.
    pub(super) epoch: i64,
    /// The layout of the store.
    pub(super) layout: Layout,
}

impl<'a> Place<'a> {
    /// The store of a comment that was found in that layout.
    pub(crate) fn of(app: &'a App, comment: &CommentDocument, layout: Layout) -> Option<Self> {
        let (discussion, epoch) = comment.on.rsplit_once('.')?;
        let (discussion, epoch) = (discussion.to_owned(), epoch.parse().ok()?);
        Some(Self { app, parent: comment.parent.clone(), discussion, epoch, layout })
    }

    /// The value of `on` in the store's comments.
    pub(crate) fn on(&self) -> String {
        format!("{}.{}", self.discussion, self.epoch)
    }

    /// `_id` of a comment in this store.
    pub(crate) fn key(&self, id: &str) -> String {
        format!("{id}.{}", self.epoch)
    }

    /// The comment as it is posted to this store; see [`CommentDocument::placed`].
    pub(crate) fn placed(
        &self,
        draft: &CommentDocument,
        name: &str,
        at: DateTime,
        begun: DateTime,
    ) -> CommentDocument {
        draft.placed((self.key(&draft.id), self.on()), name, at, begun)
    }

    /// Whether lists by author read it directly, without copies.
    pub(crate) fn lists_authors(&self) -> bool {
        self.layout == Layout::PerDocument
    }
}

/// Maximum number of comments of a page, and of a discussion with embedded comments.
pub(crate) const CAP: i64 = 100;
/// Comments that are copied at once.
pub(crate) const BATCH: usize = 100;

/// Key of a lookup of one comment.
#[derive(Debug, Clone, Copy)]
pub(crate) enum By<'a> {
    /// By id.
    Id(&'a str),
    /// By slug.
    Slug(&'a str),
}

impl By<'_> {
    pub(crate) fn is(self, comment: &CommentDocument) -> bool {
        match self {
            Self::Id(id) => comment.id == id,
            Self::Slug(slug) => comment.slug == slug,
        }
    }
}

/// The comments of a list, within one discussion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Range {
    /// All comments.
    All,
    /// Replies to the comment with that slug; of an empty slug, the comments that reply to none.
    Replies(String),
    /// The comment with that sort key and everything below it.
    Subthread(String),
}

/// A list of comments: a range in an order. Replies have an order of time, and a subthread that of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listing(pub(super) Range, pub(super) CommentOrder);

impl Listing {
    fn is_threaded(&self) -> bool {
        self.1 == CommentOrder::Threaded
    }

    /// Whether an index of the layout serves it.
    pub(crate) fn is_served(&self, layout: Layout) -> bool {
        layout != Layout::Paged || self.0 == Range::All && !self.is_threaded()
    }

    /// The sort keys; in the layout `PER_DOCUMENT` an index covers them.
    pub(crate) fn order(&self, discussion: &str) -> Order {
        let keys = match self.1 {
            CommentOrder::Chronological => vec![("at", 1), ("id", 1)],
            CommentOrder::Newest => vec![("at", -1), ("id", -1)],
            CommentOrder::Threaded => vec![("sortKey", 1)],
        };
        Order { list: format!("comments {discussion} {self:?}"), keys }
    }

    /// The comment's values of the sort keys.
    pub(crate) fn position(&self, comment: &CommentDocument) -> Vec<Bson> {
        if self.is_threaded() {
            vec![Bson::from(&comment.sort_key)]
        } else {
            vec![comment.at.into(), Bson::from(&comment.id)]
        }
    }

    /// The page of this list.
    pub(crate) fn part<'a>(&'a self, page: &'a Page) -> Part<'a> {
        let is_descending = (self.1 == CommentOrder::Newest) != page.is_backward();
        let from = page.from().map(<[Bson]>::to_vec);
        Part { listing: self, is_descending, from, limit: page.wanted(), which: Which::Posted }
    }
}

/// The comments that a read is interested in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Which<'a> {
    /// All of the store.
    Stored,
    /// Those that are posted.
    Posted,
    /// Those that aren't removed and are posted, or are committed by one of these tags.
    Counted(&'a [&'a str]),
}

/// What is read of a list at once.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    listing: &'a Listing,
    is_descending: bool,
    /// Position behind which it begins.
    from: Option<Vec<Bson>>,
    limit: usize,
    which: Which<'a>,
}

impl Part<'_> {
    /// The sort keys in the direction of the read.
    fn keys(&self) -> Vec<SortKey> {
        let direction = if self.is_descending { -1 } else { 1 };
        if self.listing.is_threaded() {
            vec![("sortKey", direction)]
        } else {
            vec![("at", direction), ("id", direction)]
        }
    }

    /// Whether the comment belongs to it.
    fn holds(&self, comment: &CommentDocument) -> bool {
        let is_wanted = match self.which {
            Which::Stored => true,
            Which::Posted => !comment.is_unposted(),
            Which::Counted(tags) => comment.removed.is_none() && comment.is_committed(tags),
        };
        let is_inside = match &self.listing.0 {
            Range::All => true,
            Range::Replies(to) => comment.reply_to == *to,
            Range::Subthread(top) => comment.sort_key.starts_with(top),
        };
        let is_behind = self.from.as_deref().is_none_or(|from| {
            let from = match from {
                [Bson::DateTime(at), Bson::String(id)] => (at.timestamp_millis(), &**id),
                [Bson::String(key)] => (0, &**key),
                _ => return false,
            };
            let own = self.rank(comment);
            if self.is_descending { own < from } else { own > from }
        });
        is_wanted && is_inside && is_behind
    }

    fn rank<'c>(&self, comment: &'c CommentDocument) -> (i64, &'c str) {
        if self.listing.is_threaded() {
            (0, &comment.sort_key)
        } else {
            (comment.at.timestamp_millis(), &comment.id)
        }
    }

    /// Those of `comments` that belong to it, in order.
    pub(crate) fn of(
        &self,
        comments: impl IntoIterator<Item = CommentDocument>,
    ) -> Vec<CommentDocument> {
        let mut found: Vec<_> = comments.into_iter().filter(|one| self.holds(one)).collect();
        found.sort_by(|left, right| self.rank(left).cmp(&self.rank(right)));
        if self.is_descending {
            found.reverse();
        }
        found.truncate(self.limit);
        found
    }
}

/// A change of one comment, independent of its layout.
#[derive(Debug, Clone, Default)]
pub(crate) struct Change {
    /// Fields with their new values.
    pub(super) set: Document,
    /// Fields that are removed.
    pub(super) unset: Vec<&'static str>,
}

impl Change {
    /// The update of the element at `path`, which ends in a dot or is empty.
    fn at(self, path: &str) -> Document {
        let set: Document =
            self.set.into_iter().map(|(field, value)| (format!("{path}{field}"), value)).collect();
        let unset: Document =
            self.unset.into_iter().map(|field| (format!("{path}{field}"), 1.into())).collect();
        let mut update = Document::new();
        for (operator, fields) in [("$set", set), ("$unset", unset)] {
            if !fields.is_empty() {
                update.insert(operator, fields);
            }
        }
        update
    }
}

/// Result of an insert.
#[derive(Debug)]
pub(crate) enum Inserted {
    /// It was inserted and isn't committed yet.
    Unposted(CommentDocument),
    /// It was inserted and committed.
    Committed(CommentDocument),
    /// A comment with its id was there before.
    Exists(CommentDocument),
    /// Another comment has its slug.
    SlugTaken,
    /// The store accepts nothing: the discussion has moved, can't be seen any more, or is full.
    Refused,
}

/// Calls the function of a layout's module.
macro_rules! by_layout {
    ($layout:expr, $name:ident($($arg:expr),*)) => {
        match $layout {
            Layout::PerDocument => Box::pin(per_document::$name($($arg),*)).await,
            Layout::Paged => Box::pin(paged::$name($($arg),*)).await,
            Layout::Embedded => Box::pin(embedded::$name($($arg),*)).await,
        }
    };
}

/// Evaluates an expression with the document type `Own` of a layout. Embedded comments have no documents.
macro_rules! of_layout {
    ($layout:expr, $own:ident => $does:expr, $embedded:expr) => {
        match $layout {
            Layout::PerDocument => {
                type $own = CommentDocument;
                $does
            }
            Layout::Paged => {
                type $own = PageDocument;
                $does
            }
            Layout::Embedded => $embedded,
        }
    };
}

impl Place<'_> {
    /// Inserts a comment that is to be posted. `guard` is of the layout that commits it at once.
    pub(crate) async fn insert(
        &self,
        discussion: &OpenDiscussion,
        comment: CommentDocument,
        guard: Document,
        attempt: &Attempt,
    ) -> Result<Inserted, Error> {
        by_layout!(self.layout, insert(self, discussion, comment, guard, attempt))
    }

    /// Finds one comment.
    pub(crate) async fn find(&self, by: By<'_>) -> Found<CommentDocument> {
        by_layout!(self.layout, find(self, by))
    }

    /// Finds comments by their ids.
    pub(crate) async fn find_all(&self, ids: &[String]) -> All {
        by_layout!(self.layout, find_all(self, ids))
    }

    /// Changes a comment if `guard` holds and the store isn't sealed.
    async fn change(
        &self,
        id: &str,
        guard: Document,
        change: Change,
        attempt: &Attempt,
    ) -> Found<CommentDocument> {
        by_layout!(self.layout, change(self, id, guard, change, attempt))
    }

    /// Reads a list. An embedded one is in the discussion, if that was just read.
    pub(crate) async fn list(&self, part: &Part<'_>, read: Option<&OpenDiscussion>) -> All {
        by_layout!(self.layout, list(self, part, read))
    }

    /// The newest comments that the discussion counts if it committed these tags, at most `limit`, newest first.
    pub(crate) async fn newest(&self, committed: &[&str], limit: usize) -> All {
        let listing = &Listing(Range::All, CommentOrder::Newest);
        let which = Which::Counted(committed);
        self.list(&Part { listing, is_descending: true, from: None, limit, which }, None).await
    }

    /// The next comments by time, posted or not, after this one.
    pub(crate) async fn batch(&self, after: Option<&CommentDocument>) -> All {
        let listing = &Listing(Range::All, CommentOrder::Chronological);
        let (from, limit) = (after.map(|after| listing.position(after)), 2 * BATCH);
        let which = Which::Stored;
        self.list(&Part { listing, is_descending: false, from, limit, which }, None).await
    }

    /// Inserts the `number`th batch of copies; copies that exist stay.
    pub(crate) async fn copy(
        &self,
        number: i64,
        comments: Vec<CommentDocument>,
        attempt: &Attempt,
    ) -> Result<(), Error> {
        by_layout!(self.layout, copy(self, number, comments, attempt))
    }

    /// Deletes a comment that isn't posted yet; an embedded one is committed by its insert. Returns whether
    /// there was one.
    pub(crate) async fn withdraw(&self, id: &str) -> Result<bool, Error> {
        match self.layout {
            Layout::PerDocument => per_document::withdraw(self, id).await,
            Layout::Paged => paged::withdraw(self, id).await,
            Layout::Embedded => Ok(false),
        }
    }

    /// Seals the store: no comment in it changes any more. The raised epoch seals an embedded one.
    pub(crate) async fn seal(&self) -> Result<(), Error> {
        let open = doc! { "on": self.on(), "sealed": { "$ne": true } };
        let seal = doc! { "$set": { "sealed": true } };
        of_layout!(self.layout, Own => {
            self.app.collection::<Own>().update_many(open, seal, vec![]).await?;
            Ok(())
        }, Ok(()))
    }

    /// Removes the store with all its comments. Embedded ones are removed with the discussion's `migration`:
    /// see [`Discussed::close`].
    pub(crate) async fn remove(&self) -> Result<(), Error> {
        of_layout!(self.layout, Own => remove::<Own>(self.app, doc! { "on": self.on() }).await, Ok(()))
    }

    /// Empties the outbox of a comment if it still holds this entry.
    pub(crate) async fn settle(
        &self,
        id: &str,
        tag: &str,
        attempt: &Attempt,
    ) -> Found<CommentDocument> {
        let set = doc! { "settledAt": attempt.now() };
        let change = Change { set, unset: vec!["due"] };
        self.change(id, doc! { "due.tag": tag }, change, attempt).await
    }

    /// Edits a comment or removes its text, if it is unchanged since it was read and its outbox is empty. An edit
    /// also needs the comment to be posted after a time.
    pub(crate) async fn rewrite(
        &self,
        old: &CommentDocument,
        new: &CommentDocument,
        posted_after: Option<DateTime>,
        attempt: &Attempt,
    ) -> Found<CommentDocument> {
        let mut unchanged = doc! {
            "version": old.version,
            "removed": { "$exists": false },
            "due": { "$exists": false },
        };
        if let Some(earliest) = posted_after {
            let edited =
                doc! { "author": &old.author, "nonce": &old.nonce, "at": { "$gt": earliest } };
            unchanged.extend(edited);
        }
        let set = doc! {
            "text": &new.text,
            "stars": new.stars,
            "nonce": &new.nonce,
            "version": new.version,
            "editedAt": new.edited_at,
            "removed": stored(&new.removed),
            "due": stored(&new.due),
        };
        let set = set.into_iter().filter(|(_, value)| *value != Bson::Null).collect();
        let loses_stars = old.stars.is_some() && new.stars.is_none();
        let unset = if loses_stars { vec!["stars"] } else { vec![] };
        self.change(&old.id, unchanged, Change { set, unset }, attempt).await
    }
}

/// Comments in any store of this layout whose outbox entry is older than `before`, oldest first.
pub(crate) async fn list_due(app: &App, layout: Layout, before: DateTime, limit: i64) -> All {
    by_layout!(layout, list_due(app, before, limit))
}

/// Removes all stores of a deleted discussion. Embedded ones go with the document.
pub(crate) async fn remove_all(app: &App, discussion: &str) -> Result<(), Error> {
    let stores = || doc! { "on": starts_with(&format!("{discussion}.")) };
    remove::<CommentDocument>(app, stores()).await?;
    remove::<PageDocument>(app, stores()).await?;
    remove_authored(app, discussion).await
}

async fn remove<T: Stored>(app: &App, filter: Document) -> Result<(), Error> {
    app.collection::<T>().remove_many(filter).await?;
    Ok(())
}

/// Filter: the comment is posted.
fn posted() -> Document {
    doc! { "due.kind": { "$ne": "POST" } }
}
