//! Every MongoDB call of comments: the three layouts behind one trait, and the discussed documents.

mod authors;
mod embedded;
mod invariants;
mod paged;
mod parents;
mod per_document;
mod rebuild;
mod seen;

pub(super) use authors::{list_authored, put_authored, remove_authored};
pub(super) use invariants::{list_copies, list_stores, list_wrong_pages};
pub(super) use parents::{
    LATEST, close, excerpt, for_each, forget_taken, give, list_touched, mark_copied, migrate,
    open_discussion, rest, settled, take, take_all, void,
};
pub(super) use per_document::{insert_all, settle_all};
pub(super) use rebuild::rebuild;
pub(super) use seen::{find, list_seen, open};

use async_trait::async_trait;
use mongodb::bson::{Bson, DateTime, Document, doc};

use super::documents::{CommentDocument, Layout, OpenDiscussion, Parent};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::page::{Order, Page},
    mongo::{
        Outcome,
        expression::{starts_with, stored},
    },
};

/// The store of a discussion's comments in one of its epochs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The discussed document.
    pub(super) parent: Parent,
    /// Id of the discussion.
    pub(super) discussion: String,
    /// The epoch: each has its own store.
    pub(super) epoch: i64,
    /// The layout of the store.
    pub(super) layout: Layout,
}

impl Place {
    /// The store that comments are posted to now.
    pub(super) fn now(parent: &Parent, discussion: &OpenDiscussion) -> Self {
        Self {
            parent: parent.clone(),
            discussion: discussion.id.clone(),
            epoch: discussion.epoch,
            layout: discussion.layout,
        }
    }

    /// The previous store, during a migration.
    pub(super) fn before(parent: &Parent, discussion: &OpenDiscussion) -> Option<Self> {
        let layout = discussion.migration.as_ref()?.from;
        Some(Self { layout, epoch: discussion.epoch - 1, ..Self::now(parent, discussion) })
    }

    /// The store of a comment that was found in that layout.
    pub(super) fn of(comment: &CommentDocument, layout: Layout) -> Option<Self> {
        let (discussion, epoch) = comment.on.rsplit_once('.')?;
        let (discussion, epoch) = (discussion.to_owned(), epoch.parse().ok()?);
        Some(Self { parent: comment.parent.clone(), discussion, epoch, layout })
    }

    /// The value of `on` in the store's comments.
    pub(super) fn on(&self) -> String {
        format!("{}.{}", self.discussion, self.epoch)
    }

    /// `_id` of a comment in this store.
    pub(super) fn key(&self, id: &str) -> String {
        format!("{id}.{}", self.epoch)
    }

    /// The implementation of its layout.
    pub(super) fn storage(&self) -> &'static dyn Storage {
        storage(self.layout)
    }
}

/// Maximum number of comments of a page, and of a discussion with embedded comments.
pub(super) const CAP: i64 = 100;
/// Comments that are copied at once.
pub(super) const BATCH: i64 = 100;

/// Key of a lookup of one comment.
#[derive(Debug, Clone, Copy)]
pub(super) enum By<'a> {
    /// By id.
    Id(&'a str),
    /// By slug.
    Slug(&'a str),
}

impl By<'_> {
    fn filter(self) -> Document {
        match self {
            Self::Id(id) => doc! { "id": id },
            Self::Slug(slug) => doc! { "slug": slug },
        }
    }

    fn is(self, comment: &CommentDocument) -> bool {
        match self {
            Self::Id(id) => comment.id == id,
            Self::Slug(slug) => comment.slug == slug,
        }
    }
}

/// A list of comments with its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    /// All comments, by time.
    Chronological,
    /// All comments, each followed by its replies.
    Threaded,
    /// Replies to the comment with that slug, by time; of an empty slug, the comments at the top level.
    Replies(String),
    /// The comment with that sort key and everything below it.
    Subthread(String),
}

impl Way {
    /// The sort keys of the list; in the layout `PER_DOCUMENT` an index covers them.
    pub(super) fn order(&self, discussion: &str) -> Order {
        let keys = match self {
            Self::Chronological | Self::Replies(_) => vec![("at", 1), ("id", 1)],
            Self::Threaded | Self::Subthread(_) => vec![("sortKey", 1)],
        };
        Order { list: format!("comments {discussion} {self:?}"), keys }
    }

    /// The comment's values of the sort keys.
    pub(super) fn position(&self, comment: &CommentDocument) -> Vec<Bson> {
        match self {
            Self::Chronological | Self::Replies(_) => {
                vec![comment.at.into(), Bson::from(&comment.id)]
            }
            Self::Threaded | Self::Subthread(_) => vec![Bson::from(&comment.sort_key)],
        }
    }

    /// Whether the comment belongs to the list.
    fn holds(&self, comment: &CommentDocument) -> bool {
        !comment.is_unposted()
            && match self {
                Self::Chronological | Self::Threaded => true,
                Self::Replies(to) => comment.reply_to == *to,
                Self::Subthread(top) => comment.sort_key.starts_with(top),
            }
    }

    /// The part of `comments` that the page shows, in order, and one more.
    pub(super) fn page_of(
        &self,
        page: &Page,
        comments: impl IntoIterator<Item = CommentDocument>,
    ) -> Vec<CommentDocument> {
        let mut listed: Vec<_> =
            comments.into_iter().filter(|comment| self.holds(comment)).collect();
        listed.sort_by(|left, right| self.compare(left, right));
        listed.retain(|comment| Self::is_behind(page, comment));
        listed.truncate(page.wanted());
        listed
    }

    /// The order of the list.
    pub(super) fn compare(
        &self,
        left: &CommentDocument,
        right: &CommentDocument,
    ) -> std::cmp::Ordering {
        match self {
            Self::Chronological | Self::Replies(_) => {
                (left.at, &left.id).cmp(&(right.at, &right.id))
            }
            Self::Threaded | Self::Subthread(_) => left.sort_key.cmp(&right.sort_key),
        }
    }

    /// Whether the comment comes after the page's cursor.
    fn is_behind(page: &Page, comment: &CommentDocument) -> bool {
        match page.after() {
            None => true,
            Some([Bson::DateTime(at), Bson::String(id)]) => (comment.at, &comment.id) > (*at, id),
            Some([Bson::String(key)]) => comment.sort_key > *key,
            Some(_) => false,
        }
    }
}

/// A change of one comment, independent of its layout.
#[derive(Debug, Clone, Default)]
pub(super) struct Change {
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
pub(super) enum Inserted {
    /// It was inserted and isn't committed yet.
    Unposted(CommentDocument),
    /// It was inserted and committed.
    Taken(CommentDocument),
    /// A comment with its id was there before.
    Exists(CommentDocument),
    /// Another comment has its slug.
    SlugTaken,
    /// The store accepts nothing: the discussion has moved, can't be seen any more, or is full.
    Refused,
}

/// A layout: how the comments of a discussion are stored. A store belongs to one epoch. Once the next epoch
/// has begun it is sealed, and nothing in it changes any more.
#[async_trait]
pub(super) trait Storage: Send + Sync {
    /// Whether it can serve that list.
    fn serves(&self, way: &Way) -> bool;

    /// Whether lists by author read it directly, without copies.
    fn lists_authors(&self) -> bool;

    /// Inserts a comment that is to be posted.
    async fn insert(
        &self,
        app: &App,
        place: &Place,
        discussion: &OpenDiscussion,
        comment: CommentDocument,
        guard: Document,
        attempt: &Attempt,
    ) -> Result<Inserted, Error>;

    /// Finds one comment.
    async fn find(
        &self,
        app: &App,
        place: &Place,
        by: By<'_>,
    ) -> Result<Option<CommentDocument>, Error>;

    /// Finds comments by their ids.
    async fn find_all(
        &self,
        app: &App,
        place: &Place,
        ids: &[String],
    ) -> Result<Vec<CommentDocument>, Error>;

    /// Changes a comment if `guard` holds and the store isn't sealed.
    async fn change(
        &self,
        app: &App,
        place: &Place,
        id: &str,
        guard: Document,
        change: Change,
        attempt: &Attempt,
    ) -> Outcome<CommentDocument>;

    /// Empties the outbox of a comment if it still holds this entry.
    async fn settle(
        &self,
        app: &App,
        place: &Place,
        id: &str,
        tag: &str,
        attempt: &Attempt,
    ) -> Outcome<CommentDocument> {
        let set = doc! { "settledAt": attempt.now() };
        let change = Change { set, unset: vec!["due"] };
        self.change(app, place, id, doc! { "due.tag": tag }, change, attempt).await
    }

    /// Edits a comment of that author if it is unchanged since it was read and its outbox is empty.
    async fn edit(
        &self,
        app: &App,
        place: &Place,
        old: &CommentDocument,
        new: &CommentDocument,
        earliest: DateTime,
        attempt: &Attempt,
    ) -> Outcome<CommentDocument> {
        let guard = doc! {
            "author": &old.author,
            "nonce": &old.nonce,
            "version": old.version,
            "at": { "$gt": earliest },
            "removed": { "$exists": false },
            "due": { "$exists": false },
        };
        let set = doc! {
            "text": &new.text,
            "stars": new.stars,
            "nonce": &new.nonce,
            "version": new.version,
            "editedAt": new.edited_at,
            "due": stored(&new.due),
        };
        self.change(app, place, &old.id, guard, without_null(set), attempt).await
    }

    /// Removes the text of a comment if it is unchanged since it was read and its outbox is empty; its place
    /// stays.
    async fn blank(
        &self,
        app: &App,
        place: &Place,
        old: &CommentDocument,
        new: &CommentDocument,
        attempt: &Attempt,
    ) -> Outcome<CommentDocument> {
        let guard = doc! {
            "version": old.version,
            "removed": { "$exists": false },
            "due": { "$exists": false },
        };
        let set = doc! {
            "text": "",
            "nonce": &new.nonce,
            "version": new.version,
            "removed": stored(&new.removed),
            "due": stored(&new.due),
        };
        let change = Change { set, unset: vec!["stars"] };
        self.change(app, place, &old.id, guard, change, attempt).await
    }

    /// A page of a list, and one comment more. `discussion` was just read.
    async fn list(
        &self,
        app: &App,
        place: &Place,
        discussion: &OpenDiscussion,
        way: &Way,
        page: &Page,
    ) -> Result<Vec<CommentDocument>, Error>;

    /// The newest comments that aren't removed, at most `limit`, newest first. Of the unsettled ones, only
    /// those whose ids are in `taken`.
    async fn newest(
        &self,
        app: &App,
        place: &Place,
        taken: &[&str],
        limit: i64,
    ) -> Result<Vec<CommentDocument>, Error>;

    /// Deletes a comment that isn't posted yet.
    async fn withdraw(&self, app: &App, place: &Place, id: &str) -> Outcome<()>;

    /// Seals the store: no comment in it changes any more.
    async fn seal(&self, app: &App, place: &Place) -> Result<(), Error>;

    /// The next comments by time, posted or not.
    async fn batch(
        &self,
        app: &App,
        place: &Place,
        after: Option<&(DateTime, String)>,
    ) -> Result<Vec<CommentDocument>, Error>;

    /// Inserts the `number`th batch of copies; copies that exist stay.
    async fn copy(
        &self,
        app: &App,
        place: &Place,
        number: i64,
        comments: Vec<CommentDocument>,
        attempt: &Attempt,
    ) -> Result<(), Error>;

    /// Comments in any store of this layout whose outbox entry is older than `before`, oldest first.
    async fn list_due(
        &self,
        app: &App,
        before: DateTime,
        limit: i64,
    ) -> Result<Vec<CommentDocument>, Error>;

    /// Removes the store with all its comments.
    async fn remove(&self, app: &App, place: &Place) -> Result<(), Error>;

    /// Removes all stores of a deleted discussion.
    async fn remove_all(&self, app: &App, discussion: &str) -> Result<(), Error>;
}

/// The implementation of a layout.
pub(super) fn storage(layout: Layout) -> &'static dyn Storage {
    match layout {
        Layout::PerDocument => &per_document::PerDocument,
        Layout::Paged => &paged::Paged,
        Layout::Embedded => &embedded::Embedded,
    }
}

/// A change that sets only the fields with a value.
fn without_null(fields: Document) -> Change {
    let set = fields.into_iter().filter(|(_, value)| *value != Bson::Null).collect();
    Change { set, unset: Vec::new() }
}

/// Filter: the comment is posted.
fn posted() -> Document {
    doc! { "due.kind": { "$ne": "POST" } }
}

/// Filter: all stores of a discussion, as a range of `on`.
fn stores_of(discussion: &str) -> Document {
    starts_with(&format!("{discussion}."))
}
