//! Guarded writes of one content.

use mongodb::bson::{Bson, DateTime, Document, doc};

use super::{
    super::documents::{Detail, Edition, NodeDocument, listed_stage},
    there, tree,
};
use crate::{
    app::App,
    flow::Attempt,
    graphql::scalars::LocaleTag,
    mongo::{
        Outcome,
        expression::{append, array, both, choose, filter, literal, stored, whole},
    },
};

/// Maximum number of replaced versions that aren't stored yet; a faster editor is asked to try again.
pub(in super::super) const WAITING: i64 = 5;

/// A new version of the draft.
#[derive(Debug)]
pub(in super::super) struct Change<'a> {
    /// Nonce of the version that it replaces.
    pub(in super::super) from: &'a str,
    /// Nonce of the new version.
    pub(in super::super) to: &'a str,
    /// The title.
    pub(in super::super) title: &'a str,
    /// Language of title and detail.
    pub(in super::super) language: Option<&'a LocaleTag>,
    /// The content's detail.
    pub(in super::super) detail: &'a Detail,
    /// Subject of the editor.
    pub(in super::super) by: &'a str,
}

/// Replaces the version whose nonce the change names, and adds that version to `kept`.
pub(in super::super) async fn edit(
    app: &App,
    id: &str,
    change: &Change<'_>,
    attempt: &Attempt,
) -> Outcome<NodeDocument> {
    let guard = doc! {
        "metadata.nonce": change.from,
        "$expr": { "$lt": [{ "$size": array("kept") }, WAITING] },
    };
    let former = whole(doc! {
        "number": "$revision",
        "nonce": "$metadata.nonce",
        "title": "$metadata.title",
        "language": "$metadata.language",
        "detail": "$metadata.detail",
        "at": "$$NOW",
        "by": literal(change.by),
    });
    let set = doc! { "$set": {
        "kept": append(array("kept"), vec![former]),
        "revision": { "$add": ["$revision", 1_i64] },
        "metadata.nonce": literal(change.to),
        "metadata.title": literal(change.title),
        "metadata.language": literal(stored(&change.language)),
        "metadata.detail": literal(stored(&change.detail)),
    } };
    let guard = both(there(id), guard);
    app.collection().guarded(guard, vec![set]).within(attempt).apply().await
}

/// Publishes the version with the nonce of `edition` from `at` on, or from now on. A past `at` counts as now
/// if readers already see another version; otherwise it is the position in feeds. Until a future `at` the
/// current edition stays visible.
pub(in super::super) async fn publish(
    app: &App,
    id: &str,
    edition: &Edition,
    at: Option<DateTime>,
    attempt: &Attempt,
) -> Outcome<NodeDocument> {
    let at = at.map_or(Bson::from("$$NOW"), Bson::from);
    let guard = both(there(id), doc! { "metadata.nonce": &edition.nonce });
    let due = |field: &str| {
        let (whole, at) = (format!("${field}"), format!("${field}.at"));
        doc! { "$and": [{ "$eq": [{ "$type": whole }, "object"] }, { "$lte": [at, "$$NOW"] }] }
    };
    let shown = due("live");
    let from = choose(shown.clone(), doc! { "$max": [&at, "$$NOW"] }, at.clone());
    let edition = doc! { "$mergeObjects": [literal(stored(edition)), { "at": from }] };
    let now = doc! { "$or": [{ "$lte": [&at, "$$NOW"] }, { "$not": [&shown] }] };
    let stays = choose(due("next"), "$next", "$live");
    let set = doc! { "$set": {
        "live": choose(now.clone(), edition.clone(), stays),
        "next": choose(now, "$$REMOVE", edition),
        "publishedAt": choose(shown, "$publishedAt", at),
    } };
    app.collection().guarded(guard, vec![set]).within(attempt).apply().await
}

/// Withdraws the current and the next edition.
pub(in super::super) async fn unpublish(
    app: &App,
    id: &str,
    attempt: &Attempt,
) -> Outcome<NodeDocument> {
    let unset = doc! { "$unset": ["live", "next", "publishedAt"] };
    app.collection().guarded(there(id), vec![unset]).within(attempt).apply().await
}

/// Adds tags, up to `most` in total.
pub(in super::super) async fn add_tags(
    app: &App,
    id: &str,
    tags: &[String],
    most: usize,
    attempt: &Attempt,
) -> Outcome<NodeDocument> {
    let all = doc! { "$setUnion": [array("metadata.tags"), literal(tags.to_vec())] };
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let room = doc! { "$expr": { "$lte": [{ "$size": &all }, most] } };
    set_tags(app, both(there(id), room), all, attempt).await
}

/// Removes tags.
pub(in super::super) async fn remove_tags(
    app: &App,
    id: &str,
    tags: &[String],
    attempt: &Attempt,
) -> Outcome<NodeDocument> {
    let others = filter(
        array("metadata.tags"),
        doc! { "$not": [{ "$in": ["$$this", literal(tags.to_vec())] }] },
    );
    set_tags(app, there(id), others, attempt).await
}

async fn set_tags(
    app: &App,
    guard: Document,
    tags: impl Into<Bson>,
    attempt: &Attempt,
) -> Outcome<NodeDocument> {
    let sorted = doc! { "$sortArray": { "input": tags.into(), "sortBy": 1 } };
    let set = doc! { "$set": { "metadata.tags": sorted } };
    app.collection().guarded(guard, vec![set, listed_stage()]).within(attempt).apply().await
}

/// Sets the roles that may read it.
pub(in super::super) async fn set_access(
    app: &App,
    id: &str,
    roles: &[String],
    attempt: &Attempt,
) -> Outcome<NodeDocument> {
    let set = doc! { "$set": { "metadata.access": literal(roles.to_vec()) } };
    app.collection().guarded(there(id), vec![set, listed_stage()]).within(attempt).apply().await
}

/// Marks content as being deleted. An older mark of an interrupted deletion is replaced.
pub(in super::super) async fn mark_deleting(
    app: &App,
    id: &str,
    by: &str,
    attempt: &Attempt,
) -> Outcome<NodeDocument> {
    let guard = doc! {
        "_id": id, "copying": { "$exists": false }, "deletedAt": { "$exists": false },
    };
    tree(app).mark_deleting(guard, by, attempt).await
}

/// Replaces content that carries this mark with a tombstone: it can't be found any more, its slug is free,
/// and a late insert finds its key taken.
pub(in super::super) async fn bury(
    app: &App,
    id: &str,
    by: &str,
    attempt: &Attempt,
) -> Outcome<NodeDocument> {
    let nothing = || Bson::Array(Vec::new());
    let set = doc! { "$set": {
        "deletedAt": "$$NOW",
        "remains": "$$NOW",
        // A parent of its own: it appears among no children and no siblings.
        "metadata.parentId": { "$concat": ["deleted ", "$_id"] },
        "metadata.path": "",
        "metadata.title": "",
        "metadata.tags": nothing(),
        "metadata.detail": literal(stored(&Detail::default())),
        "within": nothing(),
        "listed": nothing(),
        "former": nothing(),
        "outbox": nothing(),
        "kept": nothing(),
    } };
    let unset = doc! { "$unset": ["live", "next", "publishedAt", "deleting"] };
    let guard = doc! { "_id": id, "deleting.by": by };
    app.collection().guarded(guard, vec![set, unset]).within(attempt).apply().await
}
