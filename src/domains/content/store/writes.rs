//! Guarded writes of one content.

use mongodb::bson::{Bson, DateTime, Document, doc};

use super::{
    super::documents::{Edition, NodeDocument, Text, listed_stage},
    Nodes, there,
};
use crate::{
    app::App,
    flow::Attempt,
    graphql::{input::TAGS, scalars::Slug},
    mongo::{
        Outcome,
        expression::{append, array, both, choose, filter, literal, stored, whole},
    },
};

/// Maximum number of replaced versions that aren't stored yet; a faster editor is asked to try again.
pub(in super::super) const WAITING: u8 = 5;

/// Replaces the version with the nonce `from`, and adds that version to `kept`. `to` is the nonce of the new
/// one, `by` the editor's subject.
pub(in super::super) async fn edit(
    app: &App,
    id: &str,
    (from, to): (&str, &str),
    text: &Text,
    by: &str,
    attempt: &Attempt,
) -> Outcome<NodeDocument> {
    let guard = doc! {
        "metadata.nonce": from,
        "$expr": { "$lt": [{ "$size": array("kept") }, i64::from(WAITING)] },
    };
    let former = whole(doc! {
        "number": "$revision",
        "nonce": "$metadata.nonce",
        "title": "$metadata.title",
        "language": "$metadata.language",
        "detail": "$metadata.detail",
        "at": "$$NOW",
        "by": literal(by),
    });
    let set = doc! { "$set": {
        "kept": append(array("kept"), vec![former]),
        "revision": { "$add": ["$revision", 1_i64] },
        "metadata.nonce": literal(to),
        "metadata.title": literal(&text.title),
        "metadata.language": literal(stored(&text.language)),
        "metadata.detail": literal(stored(&text.detail)),
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

/// Adds tags, up to [`TAGS`] in total.
pub(in super::super) async fn add_tags(
    app: &App,
    id: &str,
    tags: &[String],
    attempt: &Attempt,
) -> Outcome<NodeDocument> {
    let all = doc! { "$setUnion": [array("metadata.tags"), literal(tags.to_vec())] };
    let most = i64::try_from(TAGS).unwrap_or(i64::MAX);
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

/// Moves content into `parent` in the state in which it was read, or to the roots, under this slug. The write
/// is also refused if the slug is taken there.
pub(in super::super) async fn set_place(
    app: &App,
    id: &str,
    parent: Option<&NodeDocument>,
    slug: &Slug,
    attempt: &Attempt,
) -> Outcome<NodeDocument> {
    let slug = doc! { "$set": { "metadata.slug": literal(slug.as_str()) } };
    let change = app.ids().random();
    Nodes::over(app).move_below(there(id), parent, vec![slug], change, attempt).await
}
