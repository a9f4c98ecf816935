//! Guarded writes of one content, as values that the caller sends.

use super::{
    super::documents::{Edition, NodeDocument, Text, listed_stage},
    is_due,
};
use crate::{app::App, domains::audiences, flow::tree::Branch, mongo::prelude::*};

/// Maximum number of replaced versions that aren't stored yet; a faster editor is asked to try again.
pub(in super::super) const WAITING: u8 = 5;

/// Changes content that exists and isn't being created or deleted, if `guard` holds.
fn change(app: &App, id: &str, guard: Document, stages: Vec<Document>) -> Guarded<NodeDocument> {
    app.collection().guarded(both(guard, NodeDocument::changeable(id)), stages)
}

/// Replaces the version `from`, and adds that version to `kept`. `to` is the new
/// one, `by` the editor's subject.
pub(in super::super) fn edit(
    app: &App,
    id: &str,
    (from, to): (&str, &str),
    text: &Text,
    by: &str,
) -> Guarded<NodeDocument> {
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
    change(app, id, guard, vec![set])
}

/// Publishes the version of `edition` from `at` on, or from now on. A past `at` counts as now
/// if readers already see another version; otherwise it is the position in feeds. Until a future `at` the
/// current edition stays visible. The version stays when the edition is withdrawn, so the write is numbered.
pub(in super::super) fn publish(
    app: &App,
    id: &str,
    edition: &Edition,
    at: Option<DateTime>,
) -> Guarded<NodeDocument> {
    let at = at.map_or(Bson::from("$$NOW"), Bson::from);
    let guard = doc! { "metadata.nonce": &edition.version };
    let shown = is_due("live");
    let from = choose(shown.clone(), doc! { "$max": [&at, "$$NOW"] }, at.clone());
    let edition = doc! { "$mergeObjects": [literal(stored(edition)), { "at": from }] };
    let now = doc! { "$or": [{ "$lte": [&at, "$$NOW"] }, { "$not": [&shown] }] };
    let stays = choose(is_due("next"), "$next", "$live");
    let set = doc! { "$set": {
        "live": choose(now.clone(), edition.clone(), stays),
        "next": choose(now, "$$REMOVE", edition),
        "publishedAt": choose(shown, "$publishedAt", at),
    } };
    change(app, id, guard, vec![set]).numbered()
}

/// Withdraws the current and the next edition.
pub(in super::super) fn unpublish(app: &App, id: &str) -> Guarded<NodeDocument> {
    let unset = doc! { "$unset": ["live", "next", "publishedAt"] };
    change(app, id, doc! {}, vec![unset]).numbered()
}

/// Adds and removes tags. Refused if there would be too many.
pub(in super::super) fn change_tags(
    app: &App,
    id: &str,
    add: &[String],
    remove: &[String],
) -> Guarded<NodeDocument> {
    let (guard, set) = audiences::change_tags(add, remove);
    change(app, id, guard, vec![doc! { "$set": set }, listed_stage()]).numbered()
}

/// Sets the roles that may read it.
pub(in super::super) fn set_access(app: &App, id: &str, roles: &[String]) -> Guarded<NodeDocument> {
    let set = doc! { "$set": { "metadata.access": literal(roles.to_vec()) } };
    change(app, id, doc! {}, vec![set, listed_stage()]).numbered()
}
