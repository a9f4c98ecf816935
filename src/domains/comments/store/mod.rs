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
    graphql::page::{Order, Page},
    mongo::{
        Outcome, Run,
        expression::{starts_with, stored},
    },
};

/// Where the comments of one discussion are in one of its epochs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// What is discussed.
    pub(super) parent: Parent,
    /// The discussion.
    pub(super) discussion: String,
    /// Its epoch: each has a store of its own.
    pub(super) epoch: i64,
    /// How they are stored.
    pub(super) layout: Layout,
}

impl Place {
    /// Where comments are posted now.
    pub(super) fn now(parent: &Parent, discussion: &OpenDiscussion) -> Self {
        Self {
            parent: parent.clone(),
            discussion: discussion.id.clone(),
            epoch: discussion.epoch,
            layout: discussion.layout,
        }
    }

    /// Where they were before, while the discussion moves.
    pub(super) fn before(parent: &Parent, discussion: &OpenDiscussion) -> Option<Self> {
        let layout = discussion.migration.as_ref()?.from;
        Some(Self { layout, epoch: discussion.epoch - 1, ..Self::now(parent, discussion) })
    }

    /// Where a comment is that was found in a store of that layout.
    pub(super) fn of(comment: &CommentDocument, layout: Layout) -> Option<Self> {
        let (discussion, epoch) = comment.on.rsplit_once('.')?;
        let (discussion, epoch) = (discussion.to_owned(), epoch.parse().ok()?);
        Some(Self { parent: comment.parent.clone(), discussion, epoch, layout })
    }

    /// What its comments carry as `on`.
    pub(super) fn on(&self) -> String {
        format!("{}.{}", self.discussion, self.epoch)
    }

    /// `_id` of the comment in this store.
    pub(super) fn key(&self, id: &str) -> String {
        format!("{id}.{}", self.epoch)
    }

    /// How it is spoken to.
    pub(super) fn storage(&self) -> &'static dyn Storage {
        storage(self.layout)
    }
}

/// Comments that a discussion with embedded comments has at the most, and a page.
pub(super) const CAP: i64 = 100;
/// Comments that are copied at once.
pub(super) const BATCH: i64 = 100;

/// By what a comment is found.
#[derive(Debug, Clone, Copy)]
pub(super) enum By<'a> {
    /// Its id.
    Id(&'a str),
    /// Its place in the discussion.
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

/// Which comments of a discussion are listed, and in which order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    /// All, by time.
    Chronological,
    /// All, each followed by what was replied to it.
    Threaded,
    /// Replies to the comment of that slug, by time; of an empty one, those that reply to none.
    Replies(String),
    /// What has that sort key and what is below it.
    Subthread(String),
}

impl Way {
    /// Sort keys; in a store of one document per comment an index has them.
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

    /// Whether the comment is listed.
    fn holds(&self, comment: &CommentDocument) -> bool {
        !comment.is_unposted()
            && match self {
                Self::Chronological | Self::Threaded => true,
                Self::Replies(to) => comment.reply_to == *to,
                Self::Subthread(top) => comment.sort_key.starts_with(top),
            }
    }

    /// What of `comments` comes on the page, in order, and one more.
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

    /// Whether the comment comes behind the page's cursor.
    fn is_behind(page: &Page, comment: &CommentDocument) -> bool {
        match page.after() {
            None => true,
            Some([Bson::DateTime(at), Bson::String(id)]) => (comment.at, &comment.id) > (*at, id),
            Some([Bson::String(key)]) => comment.sort_key > *key,
            Some(_) => false,
        }
    }
}

/// A change of one comment, wherever it is stored.
#[derive(Debug, Clone, Default)]
pub(super) struct Change {
    /// Fields with their new values.
    pub(super) set: Document,
    /// Fields that go.
    pub(super) unset: Vec<&'static str>,
}

impl Change {
    /// As an update of what lies at `path`, which ends in a dot or is empty.
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

/// What became of an insert.
#[derive(Debug)]
pub(super) enum Inserted {
    /// It is there, and nobody sees it yet.
    Unposted(CommentDocument),
    /// It is there, and the discussed document knows of it already.
    Taken(CommentDocument),
    /// It was there before, or another of its id.
    Exists(CommentDocument),
    /// Another comment has its slug.
    SlugTaken,
    /// The store takes nothing: the discussion moved on, can't be seen any more, or is full.
    Refused,
}

/// A layout: how the comments of a discussion are stored. A store belongs to one epoch; once the next has
/// begun it is sealed, and nothing in it changes any more.
#[async_trait]
pub(super) trait Storage: Send + Sync {
    /// Whether it can list in that way.
    fn serves(&self, way: &Way) -> bool;

    /// Whether the comments of an author can be listed from it.
    fn lists_authors(&self) -> bool;

    /// Inserts a comment that is to be posted.
    async fn insert(
        &self,
        app: &App,
        place: &Place,
        discussion: &OpenDiscussion,
        comment: CommentDocument,
        guard: Document,
        run: &Run,
    ) -> Result<Inserted, Error>;

    /// One comment.
    async fn find(
        &self,
        app: &App,
        place: &Place,
        by: By<'_>,
    ) -> Result<Option<CommentDocument>, Error>;

    /// These comments.
    async fn find_all(
        &self,
        app: &App,
        place: &Place,
        ids: &[String],
    ) -> Result<Vec<CommentDocument>, Error>;

    /// Changes a comment where `guard` holds of it and the store isn't sealed.
    async fn change(
        &self,
        app: &App,
        place: &Place,
        id: &str,
        guard: Document,
        change: Change,
        run: &Run,
    ) -> Outcome<CommentDocument>;

    /// Empties the outbox of a comment where it still holds that.
    async fn settle(
        &self,
        app: &App,
        place: &Place,
        id: &str,
        tag: &str,
        run: &Run,
    ) -> Outcome<CommentDocument> {
        let set = doc! { "settledAt": run.now() };
        let change = Change { set, unset: vec!["due"] };
        self.change(app, place, id, doc! { "due.tag": tag }, change, run).await
    }

    /// Edits a comment of that author, as it was read, while nothing else is due of it.
    async fn edit(
        &self,
        app: &App,
        place: &Place,
        old: &CommentDocument,
        new: &CommentDocument,
        earliest: DateTime,
        run: &Run,
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
        self.change(app, place, &old.id, guard, without_null(set), run).await
    }

    /// Removes a comment as it was read, while nothing else is due of it; its place stays.
    async fn blank(
        &self,
        app: &App,
        place: &Place,
        old: &CommentDocument,
        new: &CommentDocument,
        run: &Run,
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
        self.change(app, place, &old.id, guard, change, run).await
    }

    /// A page of a list, and one comment more. `discussion` was read just now.
    async fn list(
        &self,
        app: &App,
        place: &Place,
        discussion: &OpenDiscussion,
        way: &Way,
        page: &Page,
    ) -> Result<Vec<CommentDocument>, Error>;

    /// The newest comments that aren't removed, at most `limit`, newest first. Of those that are still to be
    /// settled, the ones whose ids are in `taken`.
    async fn newest(
        &self,
        app: &App,
        place: &Place,
        taken: &[&str],
        limit: i64,
    ) -> Result<Vec<CommentDocument>, Error>;

    /// Takes a comment out that is still to be posted.
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

    /// Puts copies in, the `number`th batch of them; those that are there stay.
    async fn copy(
        &self,
        app: &App,
        place: &Place,
        number: i64,
        comments: Vec<CommentDocument>,
        run: &Run,
    ) -> Result<(), Error>;

    /// Comments in any store of this layout in which something was due before `before`, oldest first.
    async fn list_due(
        &self,
        app: &App,
        before: DateTime,
        limit: i64,
    ) -> Result<Vec<CommentDocument>, Error>;

    /// Removes the store with all that is in it.
    async fn remove(&self, app: &App, place: &Place) -> Result<(), Error>;

    /// Removes all stores of a discussion that is gone.
    async fn remove_all(&self, app: &App, discussion: &str) -> Result<(), Error>;
}

/// How a layout is spoken to.
pub(super) fn storage(layout: Layout) -> &'static dyn Storage {
    match layout {
        Layout::PerDocument => &per_document::PerDocument,
        Layout::Paged => &paged::Paged,
        Layout::Embedded => &embedded::Embedded,
    }
}

/// What has a value is set.
fn without_null(fields: Document) -> Change {
    let set = fields.into_iter().filter(|(_, value)| *value != Bson::Null).collect();
    Change { set, unset: Vec::new() }
}

/// Condition of what is posted.
fn posted() -> Document {
    doc! { "due.kind": { "$ne": "POST" } }
}

/// Stores of a discussion, as a range of their names.
fn stores_of(discussion: &str) -> Document {
    starts_with(&format!("{discussion}."))
}
