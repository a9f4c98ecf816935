//! Every MongoDB call of comments: the three layouts behind [`Place`], and the discussed documents.

mod authors;
mod embedded;
mod invariants;
mod paged;
mod parents;
mod per_document;
mod seen;

pub(super) use authors::{list_authored, put_authored, remove_authored};
pub(super) use invariants::{list_copies, list_stores, list_wrong_pages};
pub(super) use parents::{LATEST, excerpt, for_each, list_touched, open_discussion, settled};
pub(super) use per_document::{insert_all, settle_all};
pub(super) use seen::{find, list_seen, open, reopen};

use std::ops::Deref;

use mongodb::bson::{Bson, DateTime, Document, doc};

use super::documents::{CommentDocument, Layout, Migration, OpenDiscussion, Parent};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::page::{Order, Page},
    mongo::expression::{starts_with, stored},
};

/// A discussion as it was read, with its document. It dereferences to the discussion.
#[derive(Debug, Clone)]
pub(super) struct Discussed<'a> {
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
    pub(super) fn place(&self) -> Place<'a> {
        Place {
            app: self.app,
            parent: self.parent.clone(),
            discussion: self.id.clone(),
            epoch: self.epoch,
            layout: self.layout,
        }
    }

    /// The previous store, during a migration.
    pub(super) fn before(&self) -> Option<Place<'a>> {
        let layout = self.migration.as_ref()?.from;
        Some(Place { layout, epoch: self.epoch - 1, ..self.place() })
    }

    /// The previous store with its migration, while not everything is copied.
    pub(super) fn uncopied_place(&self) -> Option<(&Migration, Place<'a>)> {
        Some((self.uncopied()?, self.before()?))
    }
}

/// The store of a discussion's comments in one of its epochs. Once the next epoch has begun it is sealed, and
/// nothing in it changes any more.
#[derive(Debug, Clone)]
pub(super) struct Place<'a> {
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
    pub(super) fn of(app: &'a App, comment: &CommentDocument, layout: Layout) -> Option<Self> {
        let (discussion, epoch) = comment.on.rsplit_once('.')?;
        let (discussion, epoch) = (discussion.to_owned(), epoch.parse().ok()?);
        Some(Self { app, parent: comment.parent.clone(), discussion, epoch, layout })
    }

    /// The value of `on` in the store's comments.
    pub(super) fn on(&self) -> String {
        format!("{}.{}", self.discussion, self.epoch)
    }

    /// `_id` of a comment in this store.
    pub(super) fn key(&self, id: &str) -> String {
        format!("{id}.{}", self.epoch)
    }

    /// The comment as it is posted to this store; see [`CommentDocument::placed`].
    pub(super) fn placed(
        &self,
        draft: &CommentDocument,
        name: &str,
        at: DateTime,
        begun: DateTime,
    ) -> CommentDocument {
        draft.placed((self.key(&draft.id), self.on()), name, at, begun)
    }

    /// Whether it can serve that list.
    pub(super) fn serves(&self, way: &Way) -> bool {
        self.layout != Layout::Paged || *way == Way::Chronological
    }

    /// Whether lists by author read it directly, without copies.
    pub(super) fn lists_authors(&self) -> bool {
        self.layout == Layout::PerDocument
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
        match page.from() {
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

/// Delegates to the layout's module, or for `EMBEDDED` to the given value.
macro_rules! by_layout {
    ($(
        $(#[$meta:meta])*
        fn $name:ident($($arg:ident: $type:ty),*) -> $result:ty $(where embedded $value:expr)?;
    )+) => {
        impl Place<'_> { $(
            $(#[$meta])*
            pub(super) async fn $name(&self, $($arg: $type),*) -> Result<$result, Error> {
                match self.layout {
                    Layout::PerDocument => Box::pin(per_document::$name(self, $($arg),*)).await,
                    Layout::Paged => Box::pin(paged::$name(self, $($arg),*)).await,
                    Layout::Embedded => by_layout!(@ self $name($($arg),*) $(; $value)?),
                }
            }
        )+ }
    };
    (@ $self:ident $name:ident($($arg:ident),*)) => {
        Box::pin(embedded::$name($self, $($arg),*)).await
    };
    (@ $self:ident $name:ident($($arg:ident),*); $value:expr) => { Ok($value) };
}

by_layout! {
    /// Inserts a comment that is to be posted. `guard` is of the layout that commits it at once.
    fn insert(
        discussion: &OpenDiscussion, comment: CommentDocument, guard: Document, attempt: &Attempt
    ) -> Inserted;

    /// Finds one comment.
    fn find(by: By<'_>) -> Option<CommentDocument>;

    /// Finds comments by their ids.
    fn find_all(ids: &[String]) -> Vec<CommentDocument>;

    /// Changes a comment if `guard` holds and the store isn't sealed.
    fn change(
        id: &str, guard: Document, change: Change, attempt: &Attempt
    ) -> Option<CommentDocument>;

    /// A page of a list, and one comment more. `discussion` was just read.
    fn list(discussion: &OpenDiscussion, way: &Way, page: &Page) -> Vec<CommentDocument>;

    /// The newest comments that aren't removed, at most `limit`, newest first. Of the unsettled ones, only
    /// those whose ids are in `taken`.
    fn newest(taken: &[&str], limit: i64) -> Vec<CommentDocument>;

    /// Deletes a comment that isn't posted yet; an embedded one is committed by its insert. Returns whether
    /// there was one.
    fn withdraw(id: &str) -> bool where embedded false;

    /// Seals the store: no comment in it changes any more. The raised epoch seals an embedded one.
    fn seal() -> () where embedded ();

    /// The next comments by time, posted or not.
    fn batch(after: Option<&(DateTime, String)>) -> Vec<CommentDocument>;

    /// Inserts the `number`th batch of copies; copies that exist stay.
    fn copy(number: i64, comments: Vec<CommentDocument>, attempt: &Attempt) -> ();

    /// Removes the store with all its comments. Embedded ones are removed with the discussion's `migration`:
    /// see [`Discussed::close`].
    fn remove() -> () where embedded ();
}

impl Place<'_> {
    /// Empties the outbox of a comment if it still holds this entry.
    pub(super) async fn settle(
        &self,
        id: &str,
        tag: &str,
        attempt: &Attempt,
    ) -> Result<Option<CommentDocument>, Error> {
        let set = doc! { "settledAt": attempt.now() };
        let change = Change { set, unset: vec!["due"] };
        self.change(id, doc! { "due.tag": tag }, change, attempt).await
    }

    /// Edits a comment or removes its text, if it is unchanged since it was read and its outbox is empty. An edit
    /// also needs the comment to be posted after a time.
    pub(super) async fn rewrite(
        &self,
        old: &CommentDocument,
        new: &CommentDocument,
        posted_after: Option<DateTime>,
        attempt: &Attempt,
    ) -> Result<Option<CommentDocument>, Error> {
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
pub(super) async fn list_due(
    app: &App,
    layout: Layout,
    before: DateTime,
    limit: i64,
) -> Result<Vec<CommentDocument>, Error> {
    match layout {
        Layout::PerDocument => per_document::list_due(app, before, limit).await,
        Layout::Paged => paged::list_due(app, before, limit).await,
        Layout::Embedded => embedded::list_due(app, before, limit).await,
    }
}

/// Removes all stores of a deleted discussion. Embedded ones go with the document.
pub(super) async fn remove_all(app: &App, discussion: &str) -> Result<(), Error> {
    per_document::remove_all(app, discussion).await?;
    paged::remove_all(app, discussion).await?;
    remove_authored(app, discussion).await
}

/// Filter: the comment is posted.
fn posted() -> Document {
    doc! { "due.kind": { "$ne": "POST" } }
}

/// Filter: all stores of a discussion, as a range of `on`.
fn stores_of(discussion: &str) -> Document {
    starts_with(&format!("{discussion}."))
}
