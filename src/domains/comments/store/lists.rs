//! Lists of comments within one discussion: what is read, in which order, and how each layout reads it.

use futures_util::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use mongodb::bson::{Bson, doc};

use super::{
    super::{
        documents::{CommentDocument, LATEST, Layout, OpenDiscussion},
        types::CommentOrder,
    },
    BATCH, CommentList, CommentStore, DiscussionHandle,
    comments::{comments, posted},
    embedded, pages,
};
use crate::{
    error::Error,
    graphql::page::{Order, Page},
    mongo::{
        collection::List,
        expression::{both, starts_with},
        keyset::{self, SortKey},
    },
};

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
pub(crate) struct Listing(pub(in super::super) Range, pub(in super::super) CommentOrder);

impl Listing {
    fn is_threaded(&self) -> bool {
        self.1 == CommentOrder::Threaded
    }

    /// Whether an index of the layout serves it.
    pub(crate) fn is_served(&self, layout: Layout) -> bool {
        layout != Layout::Paged || self.0 == Range::All && !self.is_threaded()
    }

    /// The sort keys; in the layout `PER_DOCUMENT` an index covers them.
    fn keys(&self, is_descending: bool) -> Vec<SortKey> {
        let direction = if is_descending { -1 } else { 1 };
        if self.is_threaded() {
            vec![("sortKey", direction)]
        } else {
            vec![("at", direction), ("id", direction)]
        }
    }

    /// Its name and its order, for cursors.
    pub(crate) fn order(&self, discussion: &str) -> Order {
        let keys = self.keys(self.1 == CommentOrder::Newest);
        Order { list: format!("comments {discussion} {self:?}"), keys }
    }

    /// The comment's values of the sort keys.
    pub(crate) fn position(&self, comment: &CommentDocument) -> Vec<Bson> {
        if self.is_threaded() { vec![Bson::from(&comment.sort_key)] } else { comment.position() }
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
    pub(super) is_descending: bool,
    /// Position behind which it begins.
    pub(super) from: Option<Vec<Bson>>,
    pub(super) limit: usize,
    which: Which<'a>,
}

impl Part<'_> {
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

    /// Those of the comments that belong to it, in order.
    pub(super) fn of(&self, mut found: Vec<CommentDocument>) -> Vec<CommentDocument> {
        found.retain(|comment| self.holds(comment));
        found.sort_by(|left, right| self.rank(left).cmp(&self.rank(right)));
        if self.is_descending {
            found.reverse();
        }
        found.truncate(self.limit);
        found
    }

    /// The comments of two stores, in order. Of a comment in both, the new store's is kept.
    fn joined(
        &self,
        mut now: Vec<CommentDocument>,
        before: Vec<CommentDocument>,
    ) -> Vec<CommentDocument> {
        for comment in before {
            if !now.iter().any(|other| other.id == comment.id) {
                now.push(comment);
            }
        }
        self.of(now)
    }

    /// The same as a read of an index, for comments that are documents of the store `on`.
    fn index_range(&self, on: String) -> List {
        let threaded = if self.listing.is_threaded() { "threaded" } else { "chronological" };
        let mut filter = doc! { "on": on };
        let hint = match &self.listing.0 {
            Range::All => threaded,
            Range::Replies(to) => {
                filter.insert("replyTo", to);
                "replies"
            }
            Range::Subthread(top) => {
                filter.insert("sortKey", starts_with(top));
                threaded
            }
        };
        filter = match self.which {
            Which::Stored => filter,
            Which::Posted => both(filter, posted()),
            Which::Counted(tags) => {
                let committed = doc! { "$or": [posted(), { "id": { "$in": tags } }] };
                both(filter, both(doc! { "removed": { "$exists": false } }, committed))
            }
        };
        let keys = self.listing.keys(self.is_descending);
        if let Some(from) = &self.from {
            filter = keyset::beyond(filter, &keys, from);
        }
        let (sort, limit) = (keyset::sort(&keys), i64::try_from(self.limit).unwrap_or(i64::MAX));
        List { filter, sort, limit, hint: Some(hint), ..List::default() }
    }
}

impl CommentStore<'_> {
    /// Reads a list. An embedded one is in the discussion, if that was just read.
    pub(crate) async fn list(&self, part: &Part<'_>, read: Option<&OpenDiscussion>) -> CommentList {
        match (self.layout, read) {
            (Layout::PerDocument, _) => comments(self.app).list(part.index_range(self.on())).await,
            (Layout::Paged, _) => Box::pin(pages::list(self, part)).await,
            (Layout::Embedded, Some(read)) => Ok(part.of(embedded::entries_of(self, read.clone()))),
            (Layout::Embedded, None) => Ok(part.of(embedded::entries(self).await?)),
        }
    }

    /// All comments by time, posted or not, read in batches.
    pub(crate) fn all(&self) -> BoxStream<'_, Result<CommentDocument, Error>> {
        let read = move |after: Option<CommentDocument>| async move {
            let batch = self.batch(after.as_ref()).await?;
            let last = batch.last().cloned();
            Ok::<_, Error>(last.map(|last| (stream::iter(batch.into_iter().map(Ok)), Some(last))))
        };
        stream::try_unfold(None, read).try_flatten().boxed()
    }

    /// The next comments by time after this one.
    async fn batch(&self, after: Option<&CommentDocument>) -> CommentList {
        let listing = &Listing(Range::All, CommentOrder::Chronological);
        let (from, limit) = (after.map(|after| listing.position(after)), 2 * BATCH);
        let which = Which::Stored;
        self.list(&Part { listing, is_descending: false, from, limit, which }, None).await
    }
}

impl DiscussionHandle<'_> {
    /// Reads a list of the discussion that was just read. While not everything is copied to another
    /// layout, both stores are read.
    pub(crate) async fn list(&self, part: &Part<'_>) -> CommentList {
        let mut found = self.store().list(part, Some(self)).await?;
        if let Some((_, before)) = self.uncopied_store() {
            found = part.joined(found, before.list(part, Some(self)).await?);
        }
        Ok(found)
    }

    /// The newest comments that the discussion counts: as many as it carries, and one for a removed comment.
    pub(crate) async fn newest(&self) -> CommentList {
        let listing = &Listing(Range::All, CommentOrder::Newest);
        let (is_descending, limit) = (true, LATEST + 1);
        let part = |which| Part { listing, is_descending, from: None, limit, which };
        let committed = self.committed_tags();
        let mut newest = self.store().list(&part(Which::Counted(&committed)), None).await?;
        if let Some((migration, before)) = self.uncopied_store() {
            // Comments that were committed since are in the new store. The old store may hold an uncommitted copy
            // of one, with another time, until it is withdrawn.
            let committed: Vec<_> = migration.committed.iter().map(String::as_str).collect();
            let before = before.list(&part(Which::Counted(&committed)), None).await?;
            newest = part(Which::Stored).joined(newest, before);
        }
        Ok(newest)
    }
}
