//! The writes of a discussion: the commits of posts, the applies of edits and removals, and the steps of a move to
//! another layout. Each is a guard and an update of the discussed document.

use mongodb::{
    bson::{Bson, Document, doc},
    options::UpdateModifications,
};

use super::{
    super::{
        derived::Derived,
        documents::{CommentDocument, CommentExcerpt, Due, Layout, Rating},
    },
    CAP, DiscussionHandle, Found, discussions,
};
use crate::{
    flow::Attempt,
    mongo::expression::{append, array, both, choose, filter, literal, map, stored, whole},
};

/// Number of newest comments, as MongoDB takes it: [`LATEST`](super::super::documents::LATEST).
const SLICE: i32 = 10;

/// The `$min` of each update that leaves unfinished work: `touchedAt` is the time at which the oldest began.
pub(super) fn touch(attempt: &Attempt) -> Document {
    doc! { "discussion.touchedAt": attempt.now() }
}

/// The commit of comments: a guard against a second one, and the update.
pub(super) fn commit(comments: &[&CommentDocument], attempt: &Attempt) -> (Document, Document) {
    let Derived { count, total, latest, rating } = Derived::of(comments);
    let mut increase = doc! { "discussion.count": count, "discussion.total": total };
    if rating.count > 0 {
        increase.insert("discussion.rating.count", rating.count);
        increase.insert("discussion.rating.sum", rating.sum);
    }
    let latest =
        doc! { "$each": stored(&latest), "$sort": { "at": -1, "id": -1 }, "$slice": SLICE };
    let tags: Vec<_> = comments.iter().map(|comment| comment.id.as_str()).collect();
    let mark = |tag: &&str| doc! { "tag": *tag, "at": attempt.now() };
    let marks: Vec<_> = tags.iter().map(mark).collect();
    let update = doc! {
        "$inc": increase,
        "$push": { "discussion.latest": latest, "discussion.taken": { "$each": marks } },
        "$min": touch(attempt),
    };
    (doc! { "discussion.taken.tag": { "$nin": tags } }, update)
}

impl DiscussionHandle<'_> {
    /// Writes into the discussion; returns it after the update, or `None` if it is refused.
    async fn write(
        &self,
        guard: Document,
        update: impl Into<UpdateModifications>,
        attempt: &Attempt,
    ) -> Found<Self> {
        let guard = both(guard, doc! { "discussion.id": &self.id });
        discussions::write(self.app, &self.parent, guard, update, attempt).await
    }

    /// Sets fields of the discussion to the values of expressions; see [`Self::write`].
    async fn set(&self, guard: Document, fields: Document, attempt: &Attempt) -> Found<Self> {
        self.write(guard, vec![doc! { "$set": fields }], attempt).await
    }

    /// Commits the posts of comments, none of which is committed: counts them and adds them to the newest, if the
    /// epoch is still that of their store.
    pub(crate) async fn commit(
        &self,
        comments: &[&CommentDocument],
        seen: Document,
        attempt: &Attempt,
    ) -> Found<Self> {
        let (uncommitted, update) = commit(comments, attempt);
        let now = doc! { "discussion.epoch": self.epoch };
        self.write(both(both(seen, now), uncommitted), update, attempt).await
    }

    /// Marks a tag as void, unless it is already marked.
    pub(crate) async fn void(&self, tag: &str, attempt: &Attempt) -> Found<Self> {
        let guard = doc! { "discussion.taken.tag": { "$ne": tag } };
        let void = doc! { "tag": tag, "at": attempt.now(), "void": true };
        let update = doc! { "$push": { "discussion.taken": void }, "$min": touch(attempt) };
        self.write(guard, update, attempt).await
    }

    /// Applies an edit or a removal. `newest` are the newest comments, read when the discussion had this version
    /// and this number of comments; one of them replaces the removed comment.
    pub(crate) async fn apply(
        &self,
        comment: &CommentDocument,
        due: &Due,
        newest: &[CommentDocument],
        attempt: &Attempt,
    ) -> Found<Self> {
        let mut guard = doc! {
            "discussion.version": self.version,
            "discussion.taken.tag": { "$ne": &due.tag },
        };
        let same = doc! { "$eq": ["$$this.id", literal(&comment.id)] };
        let latest = if comment.removed.is_some() {
            // A comment that was committed since might be the one to add.
            guard.insert("discussion.total", self.total);
            let others = filter("$discussion.latest", doc! { "$not": [same] });
            let more = newest.iter().filter(|other| other.id != comment.id);
            let more: Vec<Bson> = more.map(|other| stored(&CommentExcerpt::of(other))).collect();
            let known = doc! { "$in": ["$$this.id", "$discussion.latest.id"] };
            let more = filter(literal(more), doc! { "$not": [known] });
            let all = doc! { "$concatArrays": [others, more] };
            let sorted = doc! { "$sortArray": { "input": all, "sortBy": { "at": -1, "id": -1 } } };
            Bson::Document(doc! { "$slice": [sorted, SLICE] })
        } else {
            let edited = literal(stored(&CommentExcerpt::of(comment)));
            map("$discussion.latest", choose(same, edited, "$$this"))
        };
        let mark = whole(doc! { "tag": literal(&due.tag), "at": attempt.now() });
        let mut set = doc! {
            "discussion.count": plus("discussion.count", due.count.into()),
            "discussion.latest": latest,
            "discussion.version": plus("discussion.version", 1),
            "discussion.taken": append(array("discussion.taken"), vec![mark]),
            "discussion.touchedAt": { "$min": ["$discussion.touchedAt", attempt.now()] },
        };
        if due.reviews != 0 || due.stars != 0 {
            for (field, change) in
                [("discussion.rating.count", due.reviews), ("discussion.rating.sum", due.stars)]
            {
                set.insert(field, plus(field, change.into()));
            }
        }
        self.set(guard, set, attempt).await
    }

    /// Changes the layout: from now on comments are posted to a store of the next epoch.
    pub(crate) async fn migrate(
        &self,
        to: Layout,
        seen: Document,
        attempt: &Attempt,
    ) -> Found<Self> {
        let mut guard = doc! {
            "discussion.epoch": self.epoch,
            "discussion.migration": { "$exists": false },
        };
        // Void tags aren't copied.
        let committed = filter(array("discussion.taken"), doc! { "$ne": ["$$this.void", true] });
        let mut set = doc! {
            "discussion.migration": whole(doc! {
                "from": "$discussion.layout",
                "at": "$$NOW",
                "taken": map(committed, "$$this.tag"),
            }),
            "discussion.layout": literal(stored(&to)),
            "discussion.epoch": plus("discussion.epoch", 1),
            "discussion.since": { "$max": [
                "$$NOW", { "$add": [{ "$max": "$discussion.latest.at" }, 1_i64] },
            ] },
            "discussion.firstPage": { "$toLong": { "$ceil": {
                "$divide": ["$discussion.total", CAP],
            } } },
            "discussion.touchedAt": { "$min": ["$discussion.touchedAt", "$$NOW"] },
        };
        if to == Layout::Embedded {
            guard.insert("discussion.total", doc! { "$lte": CAP });
            set.insert("discussion.entries", Bson::Array(vec![]));
        }
        self.set(both(seen, guard), set, attempt).await
    }

    /// Notes that everything is copied.
    pub(crate) async fn mark_copied(&self, attempt: &Attempt) -> Found<Self> {
        let guard = doc! {
            "discussion.epoch": self.epoch,
            "discussion.migration.at": { "$exists": true },
            "discussion.migration.copiedAt": { "$exists": false },
        };
        self.set(guard, doc! { "discussion.migration.copiedAt": "$$NOW" }, attempt).await
    }

    /// Removes the note of a migration whose old store is gone, together with the comments of an embedded store.
    pub(crate) async fn close(&self, attempt: &Attempt) -> Found<Self> {
        let guard = doc! {
            "discussion.epoch": self.epoch,
            "discussion.migration.copiedAt": { "$exists": true },
        };
        let mut gone = doc! { "discussion.migration": 1 };
        if self.layout != Layout::Embedded {
            gone.insert("discussion.entries", 1);
        }
        self.write(guard, doc! { "$unset": gone }, attempt).await
    }

    /// Removes the marks with these tags, and sets `touchedAt` to the oldest work that is left.
    pub(crate) async fn forget_marks(&self, tags: &[String], attempt: &Attempt) -> Found<Self> {
        let old = doc! { "$in": ["$$this.tag", literal(tags)] };
        let left = filter(array("discussion.taken"), doc! { "$not": [old] });
        let marked = doc! { "$min": "$discussion.taken.at" };
        let due = doc! { "$min": "$discussion.entries.due.at" };
        let update = vec![
            doc! { "$set": { "discussion.taken": left } },
            doc! { "$set": { "discussion.touchedAt": { "$min": [marked, due, "$$NOW"] } } },
        ];
        self.write(Document::new(), update, attempt).await
    }

    /// Notes that no work is left, if that is still the case.
    pub(crate) async fn mark_idle(&self, attempt: &Attempt) -> Found<Self> {
        let guard = doc! {
            "discussion.touchedAt": self.touched_at,
            "discussion.taken": [],
            "discussion.migration": { "$exists": false },
            "discussion.entries.due.at": { "$exists": false },
        };
        self.write(guard, doc! { "$unset": { "discussion.touchedAt": 1 } }, attempt).await
    }

    /// Rewrites the derived values, if no post, edit, removal or migration was committed since the discussion was
    /// read.
    pub(crate) async fn rebuild(&self, derived: &Derived, attempt: &Attempt) -> Found<Self> {
        let guard = doc! {
            "discussion.epoch": self.epoch,
            "discussion.version": self.version,
            "discussion.total": self.total,
        };
        let mut set = doc! {
            "discussion.count": derived.count,
            "discussion.total": derived.total,
            "discussion.latest": stored(&derived.latest),
        };
        let mut update = doc! { "$inc": { "discussion.version": 1_i64 } };
        if derived.rating == Rating::default() {
            update.insert("$unset", doc! { "discussion.rating": 1 });
        } else {
            set.insert("discussion.rating", stored(&derived.rating));
        }
        update.insert("$set", set);
        self.write(guard, update, attempt).await
    }
}

/// Expression of the number in `field` plus `change`.
fn plus(field: &str, change: i64) -> Document {
    doc! { "$add": [format!("${field}"), change] }
}
