//! The discussed documents: commits and applies of comments, discussions with unfinished work, and reads with
//! a check of visibility. A discussion is visible with its document.

use std::collections::HashSet;

use mongodb::{
    bson::{Bson, DateTime, Document, doc},
    options::UpdateModifications,
};

use super::{
    super::{
        derived::Derived,
        documents::{
            CommentDocument, CommentExcerpt, Layout, OpenDiscussion, Parent, ParentDocument,
            ParentKind, Rating, of_kind,
        },
    },
    CAP, Discussed, Found,
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::cx::Cx,
    mongo::{
        collection::List,
        expression::{append, array, both, choose, filter, literal, map, stored, whole},
    },
};

/// Number of newest comments that a discussed document carries.
pub(crate) const LATEST: usize = 10;
/// The same for MongoDB.
const SLICE: i32 = 10;
/// Characters of a comment in the discussed document.
const EXCERPT: usize = 280;

/// The discussion, without a check of visibility.
pub(crate) async fn settled<'a>(app: &'a App, parent: &Parent) -> Found<Discussed<'a>> {
    of_kind!(parent.kind, Own => {
        let found = app.collection::<Own>().get_settled(&parent.key).await?;
        Ok(found.and_then(|found| of(app, found)))
    })
}

/// Writes into the discussed document; returns the discussion after the update, or `None` if it is refused.
async fn write<'a>(
    app: &'a App,
    parent: &Parent,
    guard: Document,
    update: impl Into<UpdateModifications>,
    attempt: &Attempt,
) -> Found<Discussed<'a>> {
    let filter = both(doc! { "_id": &parent.key }, guard);
    of_kind!(parent.kind, Own => {
        let write = app.collection::<Own>().guarded(filter, update).within(attempt);
        let Some(after) = write.apply().await.decided()? else { return Ok(None) };
        let gone = || Error::internal("a discussion isn't where it was");
        of(app, after).map(Some).ok_or_else(gone)
    })
}

/// Opens a discussion if there is none.
pub(crate) async fn open_discussion<'a>(
    app: &'a App,
    parent: &Parent,
    layout: Layout,
    seen: Document,
    attempt: &Attempt,
) -> Found<Discussed<'a>> {
    let guard = both(seen, doc! { "discussion": { "$exists": false } });
    let discussion = OpenDiscussion {
        id: app.ids().random(),
        layout,
        epoch: 1,
        count: 0,
        latest: Vec::new(),
        rating: None,
        opened_at: attempt.now(),
        total: 0,
        version: 1,
        since: attempt.now(),
        first_page: 0,
        taken: Vec::new(),
        entries: Vec::new(),
        migration: None,
        touched_at: None,
    };
    write(app, parent, guard, doc! { "$set": { "discussion": stored(&discussion) } }, attempt).await
}

/// The `$min` of each update that leaves unfinished work: `touchedAt` is the time at which the oldest began.
pub(super) fn touch(attempt: &Attempt) -> Document {
    doc! { "discussion.touchedAt": attempt.now() }
}

/// The commit of comments: a guard against a second one, and the update.
pub(super) fn taking(comments: &[&CommentDocument], attempt: &Attempt) -> (Document, Document) {
    let count = i64::try_from(comments.len()).unwrap_or(i64::MAX);
    let mut increase = doc! { "discussion.count": count, "discussion.total": count };
    let stars: Vec<_> = comments.iter().filter_map(|comment| comment.stars).collect();
    if !stars.is_empty() {
        let reviews = i64::try_from(stars.len()).unwrap_or(i64::MAX);
        increase.insert("discussion.rating.count", reviews);
        increase.insert("discussion.rating.sum", stars.into_iter().map(i64::from).sum::<i64>());
    }
    let mut newest = comments.to_vec();
    newest.sort_by(|left, right| (right.at, &right.id).cmp(&(left.at, &left.id)));
    newest.truncate(LATEST);
    let newest: Vec<_> = newest.into_iter().map(|comment| stored(&excerpt(comment))).collect();
    let latest = doc! { "$each": newest, "$sort": { "at": -1, "id": -1 }, "$slice": SLICE };
    let tags: Vec<_> = comments.iter().map(|comment| comment.id.as_str()).collect();
    let mark = |tag: &&str| doc! { "tag": *tag, "at": attempt.now() };
    let taken: Vec<_> = tags.iter().map(mark).collect();
    let update = doc! {
        "$inc": increase,
        "$push": { "discussion.latest": latest, "discussion.taken": { "$each": taken } },
        "$min": touch(attempt),
    };
    (doc! { "discussion.taken.tag": { "$nin": tags } }, update)
}

/// The excerpt of a comment for the discussed document.
pub(crate) fn excerpt(comment: &CommentDocument) -> CommentExcerpt {
    let CommentDocument { id, slug, author, author_name, text, stars, at, .. } = comment.clone();
    let end = text.char_indices().nth(EXCERPT).map(|(end, _)| end);
    let is_cut = end.is_some();
    let text = end.map_or(text.clone(), |end| text[..end].to_owned());
    CommentExcerpt { id, slug, author, author_name, text, is_cut, stars, at }
}

impl Discussed<'_> {
    /// Writes into the discussion; returns it after the update, or `None` if it is refused.
    async fn write(
        &self,
        guard: Document,
        update: impl Into<UpdateModifications>,
        attempt: &Attempt,
    ) -> Found<Self> {
        let guard = both(guard, doc! { "discussion.id": &self.id });
        write(self.app, &self.parent, guard, update, attempt).await
    }

    /// Commits the posts of comments, none of which is committed: counts them and adds them to the newest, if the
    /// epoch is still that of their store.
    pub(crate) async fn take(
        &self,
        comments: &[&CommentDocument],
        seen: Document,
        attempt: &Attempt,
    ) -> Found<Self> {
        let (untaken, update) = taking(comments, attempt);
        let now = doc! { "discussion.epoch": self.epoch };
        self.write(both(both(seen, now), untaken), update, attempt).await
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
    pub(crate) async fn give(
        &self,
        comment: &CommentDocument,
        newest: &[CommentDocument],
        attempt: &Attempt,
    ) -> Found<Self> {
        let Some(due) = &comment.due else { return Ok(None) };
        let mut guard = doc! {
            "discussion.version": self.version,
            "discussion.taken.tag": { "$ne": &due.tag },
        };
        if comment.removed.is_some() {
            // A comment that was committed since might be the one to add.
            guard.insert("discussion.total", self.total);
        }
        let same = doc! { "$eq": ["$$this.id", literal(&comment.id)] };
        let latest = if comment.removed.is_some() {
            let others = filter("$discussion.latest", doc! { "$not": [same] });
            let more: Vec<Bson> = newest
                .iter()
                .filter(|other| other.id != comment.id)
                .map(|other| stored(&excerpt(other)))
                .collect();
            let known = doc! { "$in": ["$$this.id", "$discussion.latest.id"] };
            let more = filter(literal(more), doc! { "$not": [known] });
            let all = doc! { "$concatArrays": [others, more] };
            let sorted = doc! { "$sortArray": { "input": all, "sortBy": { "at": -1, "id": -1 } } };
            Bson::Document(doc! { "$slice": [sorted, SLICE] })
        } else {
            map("$discussion.latest", choose(same, literal(stored(&excerpt(comment))), "$$this"))
        };
        let taken = whole(doc! { "tag": literal(&due.tag), "at": attempt.now() });
        let mut set = doc! {
            "discussion.count": { "$add": ["$discussion.count", i64::from(due.count)] },
            "discussion.latest": latest,
            "discussion.version": { "$add": ["$discussion.version", 1_i64] },
            "discussion.taken": append(array("discussion.taken"), vec![taken]),
            "discussion.touchedAt": { "$min": ["$discussion.touchedAt", attempt.now()] },
        };
        if due.reviews != 0 || due.stars != 0 {
            for (field, change) in [("count", due.reviews), ("sum", due.stars)] {
                let field = format!("discussion.rating.{field}");
                let sum = doc! { "$add": [format!("${field}"), i64::from(change)] };
                set.insert(field, sum);
            }
        }
        self.write(guard, vec![doc! { "$set": set }], attempt).await
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
        let taken = filter(array("discussion.taken"), doc! { "$ne": ["$$this.void", true] });
        let mut set = doc! {
            "discussion.migration": whole(doc! {
                "from": "$discussion.layout",
                "at": "$$NOW",
                "taken": map(taken, "$$this.tag"),
            }),
            "discussion.layout": literal(stored(&to)),
            "discussion.epoch": { "$add": ["$discussion.epoch", 1_i64] },
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
        self.write(both(seen, guard), vec![doc! { "$set": set }], attempt).await
    }

    /// Notes that everything is copied.
    pub(crate) async fn mark_copied(&self, attempt: &Attempt) -> Found<Self> {
        let guard = doc! {
            "discussion.epoch": self.epoch,
            "discussion.migration.at": { "$exists": true },
            "discussion.migration.copiedAt": { "$exists": false },
        };
        let update = vec![doc! { "$set": { "discussion.migration.copiedAt": "$$NOW" } }];
        self.write(guard, update, attempt).await
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
    pub(crate) async fn forget_taken(&self, tags: &[String], attempt: &Attempt) -> Found<Self> {
        let told = doc! { "$in": ["$$this.tag", literal(tags)] };
        let left = filter(array("discussion.taken"), doc! { "$not": [told] });
        let told = doc! { "$min": "$discussion.taken.at" };
        let due = doc! { "$min": "$discussion.entries.due.at" };
        let update = vec![
            doc! { "$set": { "discussion.taken": left } },
            doc! { "$set": { "discussion.touchedAt": { "$min": [told, due, "$$NOW"] } } },
        ];
        self.write(Document::new(), update, attempt).await
    }

    /// Notes that no work is left, if that is still the case.
    pub(crate) async fn rest(&self, attempt: &Attempt) -> Found<Self> {
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

/// Discussions whose `touchedAt` is before `before`, oldest first.
pub(crate) async fn list_touched(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<Discussed<'_>>, Error> {
    let mut touched = Vec::new();
    for kind in ParentKind::ALL {
        touched.extend(list_touched_of(app, kind, before, limit).await?);
    }
    Ok(touched)
}

/// Like [`list_touched`] for one kind.
pub(super) async fn list_touched_of(
    app: &App,
    kind: ParentKind,
    before: DateTime,
    limit: i64,
) -> Result<Vec<Discussed<'_>>, Error> {
    of_kind!(kind, Own => {
        let filter = doc! { "discussion.touchedAt": { "$lt": before } };
        let sort = doc! { "discussion.touchedAt": 1 };
        let hint = Some("discussion_touched");
        let fields = doc! { "discussion": 1 };
        let projection = Some(fields);
        let list = List { filter, sort, limit, projection, hint, ..List::default() };
        let found = app.collection::<Own>().list(list).await?;
        Ok(found.into_iter().filter_map(|found| of(app, found)).collect())
    })
}

fn of<const KIND: usize>(app: &App, found: ParentDocument<KIND>) -> Option<Discussed<'_>> {
    let parent = Parent { kind: ParentDocument::<KIND>::KIND, key: found.key };
    Some(Discussed { app, parent, discussion: *found.discussion? })
}

/// Every discussion.
pub(crate) async fn for_each<'a>(
    app: &'a App,
    mut each: impl FnMut(Discussed<'a>),
) -> Result<(), Error> {
    for kind in ParentKind::ALL {
        of_kind!(kind, Own => {
            let all = app.collection::<Own>();
            let each = |found| {
                of(app, found).into_iter().for_each(&mut each);
                Ok(())
            };
            all.for_each(each).await?;
        });
    }
    Ok(())
}

/// The discussion of a document: `None` if the caller can't see the document, `Some(None)` if no discussion
/// was opened.
type Seen<'a> = Option<Option<Discussed<'a>>>;

fn seen<const KIND: usize>(
    cx: Cx<'_>,
    found: Option<ParentDocument<KIND>>,
    now: Option<DateTime>,
) -> Seen<'_> {
    let found = found.filter(|parent| parent.is_seen_by(cx.requester, now))?;
    Some(of(cx.app, found))
}

/// Reads the discussion for lists.
pub(crate) async fn find<'a>(cx: Cx<'a>, parent: &Parent) -> Result<Seen<'a>, Error> {
    of_kind!(parent.kind, Own => {
        if Own::IS_TIMED {
            return Ok(open(cx, parent).await?.1);
        }
        let found = cx.collection::<Own>().get_part(&parent.key, Own::FIELDS).await?;
        Ok(seen(cx, found, None))
    })
}

/// Which of these documents the caller can see, with one command per kind.
pub(crate) async fn list_seen(
    cx: Cx<'_>,
    parents: &HashSet<&Parent>,
) -> Result<HashSet<Parent>, Error> {
    let kinds = ParentKind::ALL.map(|kind| list_seen_of(cx, kind, parents));
    let [products, contents, assets] = kinds;
    let (products, contents, assets) = tokio::try_join!(products, contents, assets)?;
    Ok([products, contents, assets].into_iter().flatten().collect())
}

/// Like [`list_seen`] for one kind.
async fn list_seen_of(
    cx: Cx<'_>,
    kind: ParentKind,
    parents: &HashSet<&Parent>,
) -> Result<Vec<Parent>, Error> {
    let own = parents.iter().filter(|parent| parent.kind == kind);
    let keys: Vec<_> = own.map(|parent| parent.key.as_str()).collect();
    let Ok(limit @ 1..) = i64::try_from(keys.len()) else { return Ok(Vec::new()) };
    of_kind!(kind, Own => {
        let filter = both(doc! { "_id": { "$in": keys } }, kind.seen_by(cx.requester));
        let projection = Some(doc! { "_id": 1 });
        let list = List { filter, limit, projection, hint: Some("_id_"), ..List::default() };
        let found = cx.collection::<Own>().list(list).await?;
        Ok(found.into_iter().map(|parent| Parent { kind, key: parent.key }).collect())
    })
}

/// Reads the discussion and begins an attempt with that read.
pub(crate) async fn open<'a>(cx: Cx<'a>, parent: &Parent) -> Result<(Attempt, Seen<'a>), Error> {
    of_kind!(parent.kind, Own => {
        let (attempt, found) = cx.begin_with::<Own>(&parent.key).await?;
        Ok((attempt, seen(cx, found, Some(attempt.now()))))
    })
}

/// Like [`open`], whether or not the caller can see the document.
pub(crate) async fn reopen<'a>(
    app: &'a App,
    parent: &Parent,
) -> Result<(Attempt, Option<Discussed<'a>>), Error> {
    of_kind!(parent.kind, Own => {
        let (attempt, found) = app.begin_with::<Own>(&parent.key).await?;
        Ok((attempt, found.and_then(|found| of(app, found))))
    })
}
