//! Reads of comments: one by its key, and lists, whatever the layout of the store.

use futures_util::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};

use super::{
    super::{
        documents::{AuthoredComment, CommentDocument, LATEST, Layout, OpenDiscussion},
        types::CommentOrder,
    },
    BATCH, CommentKey, CommentList, CommentStore, DiscussionHandle, Found,
    comments::comments,
    pages,
};
use crate::{
    graphql::prelude::*,
    mongo::{
        keyset::{self, SortKey},
        prelude::*,
    },
};

/// Filter: the comment is posted.
pub(super) fn posted() -> Document {
    doc! { "due.kind": { "$ne": "POST" } }
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
        Part { listing: self, is_descending, from, limit: page.wanted() }
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
}

impl Part<'_> {
    /// Whether the comment belongs to it.
    fn holds(&self, comment: &CommentDocument, which: Which<'_>) -> bool {
        let is_wanted = match which {
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
    pub(super) fn of(
        &self,
        mut found: Vec<CommentDocument>,
        which: Which<'_>,
    ) -> Vec<CommentDocument> {
        found.retain(|comment| self.holds(comment, which));
        self.ordered(found)
    }

    /// The first of the comments, in order.
    fn ordered(&self, mut found: Vec<CommentDocument>) -> Vec<CommentDocument> {
        found.sort_by(|left, right| self.rank(left).cmp(&self.rank(right)));
        if self.is_descending {
            found.reverse();
        }
        found.truncate(self.limit);
        found
    }

    /// The same as a read of an index, for comments that are documents of the store `on`.
    fn index_range(&self, on: String, which: Which<'_>) -> List {
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
        filter = match which {
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
        let (sort, limit) = (keyset::sort(&keys), count(self.limit));
        List { filter, sort, limit, hint: Some(hint), ..List::default() }
    }
}

impl CommentStore<'_> {
    /// The comments of an embedded store: from its discussion if that was just read, and otherwise as they are now.
    async fn embedded(&self, read: Option<&OpenDiscussion>) -> CommentList {
        let now = if read.is_none() { self.discussed().await? } else { None };
        let entries =
            read.or(now.as_deref()).map_or(&[][..], |discussion| discussion.entries.as_slice());
        let on = self.on();
        Ok(entries.iter().filter(|comment| comment.on == on).cloned().collect())
    }

    /// Finds one comment.
    pub(crate) async fn find(&self, by: CommentKey<'_>) -> Found<CommentDocument> {
        let found = match by {
            CommentKey::Id(id) if self.layout == Layout::PerDocument => {
                return comments(self.app).get_settled(&self.key(id)).await;
            }
            CommentKey::Id(id) => self.around("id", id.into(), 1).await?,
            CommentKey::Slug(slug) => self.around("slug", slug.into(), 1).await?,
        };
        Ok(found.into_iter().find(|comment| by.is(comment)))
    }

    /// Finds comments by their ids.
    pub(crate) async fn find_all(&self, ids: &[String]) -> CommentList {
        if self.layout == Layout::PerDocument {
            let keys: Vec<_> = ids.iter().map(|id| self.key(id)).collect();
            return comments(self.app).list(List::of_ids(&keys)).await;
        }
        let mut found = self.around("id", doc! { "$in": ids }.into(), count(ids.len())).await?;
        found.retain(|comment| ids.contains(&comment.id));
        Ok(found)
    }

    /// The comments of up to `limit` documents that hold one with this `id` or `slug`.
    async fn around(&self, field: &str, value: Bson, limit: i64) -> CommentList {
        let list = |path: &str, index| {
            let filter = doc! { "on": self.on(), path: value };
            List { filter, limit, hint: Some(index), ..List::default() }
        };
        match self.layout {
            Layout::PerDocument => comments(self.app).list(list(field, "slug")).await,
            Layout::Paged => {
                let index = if field == "id" { "comment" } else { "slug" };
                pages::entries(self.app, list(&format!("entries.{field}"), index)).await
            }
            Layout::Embedded => self.embedded(None).await,
        }
    }

    /// Reads a list. An embedded one is in the discussion, if that was just read.
    async fn list(
        &self,
        part: &Part<'_>,
        which: Which<'_>,
        read: Option<&OpenDiscussion>,
    ) -> CommentList {
        match self.layout {
            Layout::PerDocument => {
                comments(self.app).list(part.index_range(self.on(), which)).await
            }
            Layout::Paged => Box::pin(pages::list(self, part, which)).await,
            Layout::Embedded => Ok(part.of(self.embedded(read).await?, which)),
        }
    }

    /// All comments by time, posted or not, read in batches.
    pub(crate) fn all(&self) -> BoxStream<'_, Result<CommentDocument>> {
        let read = move |from: Option<Vec<Bson>>| async move {
            let listing = &Listing(Range::All, CommentOrder::Chronological);
            let part = Part { listing, is_descending: false, from, limit: 2 * BATCH };
            let batch = self.list(&part, Which::Stored, None).await?;
            let last = batch.last().map(CommentDocument::position);
            Ok::<_, Error>(last.map(|last| (stream::iter(batch.into_iter().map(Ok)), Some(last))))
        };
        stream::try_unfold(None, read).try_flatten().boxed()
    }
}

impl DiscussionHandle<'_> {
    /// Finds a posted comment. While not everything is copied to another layout, a comment that isn't in the new store
    /// is still in the old one. Embedded comments were read with the discussion.
    pub(crate) async fn find(&self, by: CommentKey<'_>) -> Found<CommentDocument> {
        let store = self.store();
        let on = store.on();
        let mut found = match self.layout {
            Layout::Embedded => {
                self.entries.iter().find(|comment| comment.on == on && by.is(comment)).cloned()
            }
            _ => store.find(by).await?,
        };
        if found.is_none()
            && let Some((_, before)) = self.uncopied_store()
        {
            found = before.find(by).await?;
        }
        Ok(found.filter(|comment| !comment.is_unposted()))
    }

    /// Reads a list of the discussion that was just read.
    pub(crate) async fn list(&self, part: &Part<'_>) -> CommentList {
        self.join(part, Which::Posted, Which::Posted).await
    }

    /// The newest comments that the discussion counts: as many as it carries, and one for a removed comment.
    pub(crate) async fn newest(&self) -> CommentList {
        let listing = &Listing(Range::All, CommentOrder::Newest);
        let part = Part { listing, is_descending: true, from: None, limit: LATEST + 1 };
        // Comments that were committed since are in the new store. The old store may hold an uncommitted copy of one,
        // with another time, until it is withdrawn.
        let before = self.migration.iter().flat_map(|migration| &migration.committed);
        let before: Vec<_> = before.map(String::as_str).collect();
        let now = self.committed_tags();
        self.join(&part, Which::Counted(&now), Which::Counted(&before)).await
    }

    /// These comments of the current store, in the order of a list. While not everything is copied to another layout,
    /// also these of the previous store; of a comment in both, the new store's is kept.
    async fn join(&self, part: &Part<'_>, now: Which<'_>, before: Which<'_>) -> CommentList {
        let mut found = self.store().list(part, now, Some(self)).await?;
        if let Some((_, old)) = self.uncopied_store() {
            for comment in old.list(part, before, Some(self)).await? {
                if !found.iter().any(|other| other.id == comment.id) {
                    found.push(comment);
                }
            }
            found = part.ordered(found);
        }
        Ok(found)
    }
}

/// A page of the author's comments, newest first: of those that are documents and of the copies of the others, read
/// side by side. A comment may be in both.
pub(crate) async fn list_authored(app: &App, author: &str, page: &Page) -> CommentList {
    let of = |filter| List { hint: Some("author"), ..page.list(filter) };
    let own = comments(app).list(of(both(doc! { "author": author }, posted())));
    let copied = app.collection::<AuthoredComment>().list(of(doc! { "author": author }));
    let (own, copied) = tokio::try_join!(own, copied)?;
    Ok(own.into_iter().chain(copied.into_iter().map(|copy| copy.comment)).collect())
}
