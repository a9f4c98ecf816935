//! The writes of a discussion: the commits of posts, the applies of edits and removals, and the steps of a move to
//! another layout. Each is a guard and an update of the discussed document.

use super::{
    super::{
        derived::Derived,
        documents::{
            CommentDocument, CommentExcerpt, Due, LATEST, Layout, Mark, Rating, THOUSANDTHS,
        },
    },
    CAP, DiscussionHandle, Found, discussions,
};
use crate::{error::Result, flow::Attempt, mongo::prelude::*};

/// Expression of `touchedAt` for each update that leaves unfinished work: the time at which the oldest began.
pub(super) fn touched(attempt: &Attempt) -> Document {
    doc! { "$min": ["$discussion.touchedAt", attempt.now()] }
}

/// Expression of the newest of these excerpts.
fn newest_of(excerpts: Bson) -> Document {
    let sorted = doc! { "$sortArray": { "input": excerpts, "sortBy": { "at": -1, "id": -1 } } };
    doc! { "$slice": [sorted, count(LATEST)] }
}

impl DiscussionHandle<'_> {
    /// Sets fields of the discussion to the values of expressions, if the epoch is still the same; returns it after the
    /// update, or `None` if it is refused.
    async fn set(&self, guard: Document, fields: Document, attempt: &Attempt) -> Found<Self> {
        self.write(guard, vec![doc! { "$set": fields }], attempt).await
    }

    /// Like [`Self::set`], with the stages of a pipeline.
    async fn write(
        &self,
        guard: Document,
        stages: Vec<Document>,
        attempt: &Attempt,
    ) -> Found<Self> {
        let guard = both(guard, doc! { "discussion.id": &self.id, "discussion.epoch": self.epoch });
        discussions::write(self.app, &self.parent, guard, stages, attempt).await
    }

    /// Sets fields of the discussion to the values of expressions, and adds these marks. Returns whether the guard held,
    /// which includes that none of the tags is marked. The document matches `done` if the fields were set. With a guard
    /// of `$expr` only, the writes of several callers are combined; see `mongo::writer`.
    async fn set_marked(
        &self,
        guard: Document,
        mut fields: Document,
        marks: &[Mark],
        done: Document,
        attempt: &Attempt,
    ) -> Result<bool> {
        let tags: Vec<_> = marks.iter().map(|mark| mark.tag.as_str()).collect();
        let taken = doc! { "$setIntersection": [array("discussion.taken.tag"), literal(tags)] };
        let same = is("discussion.id", &self.id).expression();
        let unmarked = all(vec![same, doc! { "$eq": [taken, []] }]);
        let guard = both(guard, both(doc! { "_id": &self.parent.key }, unmarked));
        let added = marks.iter().map(|mark| literal(stored(mark))).collect();
        fields.insert("discussion.taken", append(array("discussion.taken"), added));
        fields.insert("discussion.touchedAt", touched(attempt));
        let marked = marks.iter().map(|Mark { tag, void, .. }| {
            let is_void = doc! { (if *void { "$eq" } else { "$ne" }): true };
            doc! { "$elemMatch": { "tag": tag, "void": is_void } }
        });
        let marked = doc! { "discussion.taken": { "$all": marked.collect::<Vec<_>>() } };
        let own = doc! { "_id": &self.parent.key, "discussion.id": &self.id };
        let marked = both(both(done, marked), own);
        let write = discussions::parents(self.app, self.parent.kind).set(guard, fields);
        write.within(attempt).applied_if(marked).held().await
    }

    /// Commits the posts of comments, none of which is committed: counts them and adds them to the newest, if the
    /// epoch is still that of their store.
    pub(crate) async fn commit(
        &self,
        comments: &[&CommentDocument],
        seen: Document,
        attempt: &Attempt,
    ) -> Result<bool> {
        self.commit_with(comments, seen, Document::new(), Document::new(), attempt).await
    }

    /// Like [`Self::commit`], and sets more fields. The document matches `done` if they were set.
    pub(super) async fn commit_with(
        &self,
        comments: &[&CommentDocument],
        guard: Document,
        mut fields: Document,
        done: Document,
        attempt: &Attempt,
    ) -> Result<bool> {
        let Derived { count, total, latest, rating } = Derived::of(comments);
        let all = doc! { "$concatArrays": [array("discussion.latest"), literal(stored(&latest))] };
        fields.extend(doc! {
            "discussion.count": plus("discussion.count", count),
            "discussion.total": plus("discussion.total", total),
            "discussion.latest": newest_of(all.into()),
        });
        fields.extend(rated(rating));
        let guard = both(guard, is("discussion.epoch", self.epoch).guard());
        let marks = comments.iter().map(|comment| self.mark_of(comment, &comment.id, attempt));
        let marks: Vec<_> = marks.collect();
        self.set_marked(guard, fields, &marks, done, attempt).await
    }

    /// The mark of a change of the comment, which takes the share of its author.
    fn mark_of(&self, comment: &CommentDocument, tag: &str, attempt: &Attempt) -> Mark {
        Mark { share: Some(self.share_of(&comment.author)), ..Mark::of(tag, attempt.now()) }
    }

    /// Marks a tag as void, unless it is already marked. Returns whether it did.
    pub(crate) async fn void(&self, tag: &str, attempt: &Attempt) -> Result<bool> {
        let void = Mark { void: true, ..Mark::of(tag, attempt.now()) };
        let nothing = Document::new;
        self.set_marked(nothing(), nothing(), &[void], nothing(), attempt).await
    }

    /// Applies an edit or a removal. `newest` are the newest comments, read when the discussion had this version
    /// and this number of comments; one of them replaces the removed comment. Of the edits and removals that read one
    /// version only one is applied, so their guard isn't of the form that is combined.
    pub(crate) async fn apply(
        &self,
        comment: &CommentDocument,
        due: &Due,
        newest: &[CommentDocument],
        attempt: &Attempt,
    ) -> Result<bool> {
        let mut guard = doc! { "discussion.version": self.version };
        let same = doc! { "$eq": ["$$this.id", literal(&comment.id)] };
        let latest = if comment.removed.is_some() {
            // A comment that was committed since might be the one to add.
            guard.insert("discussion.total", self.total);
            let others = filter("$discussion.latest", doc! { "$not": [same] });
            let more = newest.iter().filter(|other| other.id != comment.id);
            let more: Vec<Bson> = more.map(|other| stored(&CommentExcerpt::of(other))).collect();
            let known = doc! { "$in": ["$$this.id", "$discussion.latest.id"] };
            let more = filter(literal(more), doc! { "$not": [known] });
            newest_of(doc! { "$concatArrays": [others, more] }.into()).into()
        } else {
            let edited = literal(stored(&CommentExcerpt::of(comment)));
            map("$discussion.latest", choose(same, edited, "$$this"))
        };
        let mut fields = doc! {
            "discussion.count": plus("discussion.count", due.count.into()),
            "discussion.latest": latest,
            "discussion.version": plus("discussion.version", 1),
        };
        fields.extend(rated(Rating::of(due.reviews.into(), due.stars.into())));
        let mark = self.mark_of(comment, &due.tag, attempt);
        self.set_marked(guard, fields, &[mark], Document::new(), attempt).await
    }

    /// Changes the layout: from now on comments are posted to a store of the next epoch.
    pub(crate) async fn migrate(
        &self,
        to: Layout,
        seen: Document,
        attempt: &Attempt,
    ) -> Found<Self> {
        let mut guard = doc! { "discussion.migration": { "$exists": false } };
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
            "discussion.migration.at": { "$exists": true },
            "discussion.migration.copiedAt": { "$exists": false },
        };
        self.set(guard, doc! { "discussion.migration.copiedAt": "$$NOW" }, attempt).await
    }

    /// Removes the note of a migration whose old store is gone, together with the comments of an embedded store.
    pub(crate) async fn close(&self, attempt: &Attempt) -> Found<Self> {
        let guard = doc! { "discussion.migration.copiedAt": { "$exists": true } };
        let mut gone = doc! { "discussion.migration": "$$REMOVE" };
        if self.layout != Layout::Embedded {
            gone.insert("discussion.entries", "$$REMOVE");
        }
        self.set(guard, gone, attempt).await
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
        self.set(guard, doc! { "discussion.touchedAt": "$$REMOVE" }, attempt).await
    }

    /// Rewrites the derived values, if no post, edit, removal or migration was committed since the discussion was
    /// read.
    pub(crate) async fn rebuild(&self, derived: &Derived, attempt: &Attempt) -> Found<Self> {
        let guard = doc! { "discussion.version": self.version, "discussion.total": self.total };
        let rating = if derived.rating == Rating::default() {
            Bson::from("$$REMOVE")
        } else {
            literal(stored(&derived.rating))
        };
        let set = doc! {
            "discussion.count": derived.count,
            "discussion.total": derived.total,
            "discussion.latest": literal(stored(&derived.latest)),
            "discussion.rating": rating,
            "discussion.version": plus("discussion.version", 1),
        };
        self.set(guard, set, attempt).await
    }
}

/// The fields of the rating with that many more reviews and stars; none if it stays. The score is that of [`Rating::of`].
fn rated(more: Rating) -> Document {
    if more == Rating::default() {
        return Document::new();
    }
    let sum = |field: &str, change: i64| doc! { "$add": [{ "$ifNull": [field, 0_i64] }, change] };
    let count = sum("$discussion.rating.count", more.count);
    let stars = sum("$discussion.rating.sum", more.sum);
    let average = doc! { "$divide": [{ "$multiply": [&stars, THOUSANDTHS] }, &count] };
    let has_reviews = doc! { "$gt": [&count, 0_i64] };
    let score = choose(has_reviews, doc! { "$toLong": { "$floor": average } }, "$$REMOVE");
    doc! {
        "discussion.rating.count": count,
        "discussion.rating.sum": stars,
        "discussion.rating.score": score,
    }
}

/// Expression of the number in `field` plus `change`.
fn plus(field: &str, change: i64) -> Document {
    doc! { "$add": [format!("${field}"), change] }
}
