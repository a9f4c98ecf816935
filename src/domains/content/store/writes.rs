//! The guarded writes of one piece of content.

use mongodb::bson::{Bson, DateTime, Document, doc};

use super::{
    super::documents::{Detail, Edition, NodeDocument, listed_stage},
    there, tree,
};
use crate::{
    app::App,
    graphql::scalars::LocaleTag,
    mongo::{
        Outcome, Run,
        expression::{append, array, both, choose, filter, literal, stored, whole},
    },
};

/// Versions that may wait to be kept; an editor who is quicker is told to come again.
pub(in super::super) const WAITING: i64 = 5;

/// Another version.
#[derive(Debug)]
pub(in super::super) struct Change<'a> {
    /// Nonce of the version that it replaces.
    pub(in super::super) from: &'a str,
    /// Its own.
    pub(in super::super) to: &'a str,
    /// The title.
    pub(in super::super) title: &'a str,
    /// Language of title and detail.
    pub(in super::super) language: Option<&'a LocaleTag>,
    /// What it holds.
    pub(in super::super) detail: &'a Detail,
    /// Subject of the editor.
    pub(in super::super) by: &'a str,
}

/// Replaces the version whose nonce the change names; that one is to be kept.
pub(in super::super) async fn edit(
    app: &App,
    id: &str,
    change: &Change<'_>,
    run: &Run,
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
    app.collection().guarded(guard, vec![set]).within(run).apply().await
}

/// Publishes the version with the nonce of `edition` from `at` on, or from now on. A time that is past
/// counts as now where readers see another version; else it is the place in feeds. Before a time that is
/// still to come what is live stays.
pub(in super::super) async fn publish(
    app: &App,
    id: &str,
    edition: &Edition,
    at: Option<DateTime>,
    run: &Run,
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
    app.collection().guarded(guard, vec![set]).within(run).apply().await
}

/// Takes back what is published, and what is to be.
pub(in super::super) async fn unpublish(app: &App, id: &str, run: &Run) -> Outcome<NodeDocument> {
    let unset = doc! { "$unset": ["live", "next", "publishedAt"] };
    app.collection().guarded(there(id), vec![unset]).within(run).apply().await
}

/// Adds tags, of which it has no more than `most` afterwards.
pub(in super::super) async fn add_tags(
    app: &App,
    id: &str,
    tags: &[String],
    most: usize,
    run: &Run,
) -> Outcome<NodeDocument> {
    let all = doc! { "$setUnion": [array("metadata.tags"), literal(tags.to_vec())] };
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let room = doc! { "$expr": { "$lte": [{ "$size": &all }, most] } };
    set_tags(app, both(there(id), room), all, run).await
}

/// Removes tags.
pub(in super::super) async fn remove_tags(
    app: &App,
    id: &str,
    tags: &[String],
    run: &Run,
) -> Outcome<NodeDocument> {
    let others = filter(
        array("metadata.tags"),
        doc! { "$not": [{ "$in": ["$$this", literal(tags.to_vec())] }] },
    );
    set_tags(app, there(id), others, run).await
}

async fn set_tags(
    app: &App,
    guard: Document,
    tags: impl Into<Bson>,
    run: &Run,
) -> Outcome<NodeDocument> {
    let sorted = doc! { "$sortArray": { "input": tags.into(), "sortBy": 1 } };
    let set = doc! { "$set": { "metadata.tags": sorted } };
    app.collection().guarded(guard, vec![set, listed_stage()]).within(run).apply().await
}

/// Sets which roles may read it.
pub(in super::super) async fn set_access(
    app: &App,
    id: &str,
    roles: &[String],
    run: &Run,
) -> Outcome<NodeDocument> {
    let set = doc! { "$set": { "metadata.access": literal(roles.to_vec()) } };
    app.collection().guarded(there(id), vec![set, listed_stage()]).within(run).apply().await
}

/// Marks content as being deleted; an older mark, left behind by a cut deletion, gives way.
pub(in super::super) async fn mark_deleting(
    app: &App,
    id: &str,
    by: &str,
    run: &Run,
) -> Outcome<NodeDocument> {
    let guard = doc! {
        "_id": id, "copying": { "$exists": false }, "deletedAt": { "$exists": false },
    };
    tree(app).mark_deleting(guard, by, run).await
}

/// Leaves a stone of content that carries this mark: nobody finds it any more, its slug is free, and an
/// insert that comes late finds its key taken.
pub(in super::super) async fn bury(
    app: &App,
    id: &str,
    by: &str,
    run: &Run,
) -> Outcome<NodeDocument> {
    let nothing = || Bson::Array(Vec::new());
    let set = doc! { "$set": {
        "deletedAt": "$$NOW",
        "remains": "$$NOW",
        // Of no other content: neither its children nor its siblings are looked for there.
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
    app.collection().guarded(guard, vec![set, unset]).within(run).apply().await
}
