//! Writes of the steps that follow after an answer: former versions, former paths, due editions and deletions.

use super::super::documents::{NodeDocument, RevisionDocument};
use crate::{app::App, error::Result, mongo::prelude::*};

/// Removes the former versions up to this number, including late ones.
pub(in super::super) async fn drop_older_revisions(app: &App, id: &str, number: i64) -> Result<()> {
    let older = doc! { "nodeId": id, "version.number": { "$lte": number } };
    app.collection::<RevisionDocument>().remove_many(older).await?;
    Ok(())
}

/// Removes every former version of deleted content.
pub(in super::super) async fn drop_revisions(app: &App, id: &str) -> Result<()> {
    app.collection::<RevisionDocument>().remove_many(doc! { "nodeId": id }).await?;
    Ok(())
}

/// Notes that the replaced versions of this document, as it was read, are stored.
pub(in super::super) fn settle_kept(app: &App, node: &NodeDocument) -> Guarded<NodeDocument> {
    let numbers: Vec<_> = node.kept.iter().map(|version| version.number).collect();
    let left = without_any(array("kept"), "number", numbers);
    app.collection().set(doc! { "_id": &node.id }, doc! { "kept": left })
}

/// Removes a path that these nodes left from the `former` of nodes that left it earlier. Requests for the
/// path are redirected to the last one, so the others aren't needed.
pub(in super::super) async fn drop_older_former(app: &App, nodes: &[NodeDocument]) -> Result<()> {
    let left: Vec<_> = nodes.iter().filter_map(|node| node.former.first()).collect();
    if left.is_empty() {
        return Ok(());
    }
    let paths: Vec<_> = left.iter().map(|former| former.path.as_str()).collect();
    let is_newer = doc! { "$and": [
        { "$eq": ["$$left.path", "$$this.path"] }, { "$gt": ["$$left.until", "$$this.until"] },
    ] };
    let newer = doc! { "$map": { "input": literal(stored(&left)), "as": "left", "in": is_newer } };
    let stay = filter(array("former"), doc! { "$not": [{ "$anyElementTrue": [newer] }] });
    let had = doc! { "former.path": { "$in": paths } };
    let set = vec![doc! { "$set": { "former": stay } }];
    app.collection::<NodeDocument>().update_many(had, set).await?;
    Ok(())
}

/// Promotes a due `next` to `live`.
pub(in super::super) fn promote(app: &App, id: &str) -> Guarded<NodeDocument> {
    let due = doc! { "_id": id, "next": { "$exists": true },
    "$expr": { "$lte": ["$next.at", "$$NOW"] } };
    let stages = vec![doc! { "$set": { "live": "$next" } }, doc! { "$unset": "next" }];
    app.collection().guarded(due, stages)
}

/// Notes that only the tombstone of deleted content is left.
pub(in super::super) fn settle_remains(app: &App, id: &str) -> Guarded<NodeDocument> {
    let tombstone = doc! { "_id": id, "remains": { "$exists": true } };
    app.collection().set(tombstone, doc! { "remains": "$$REMOVE", "discussion": "$$REMOVE" })
}

pub(in super::super) async fn remove_tombstone(app: &App, id: &str) -> Outcome<()> {
    let nothing_left = doc! { "$exists": false };
    let tombstone = doc! { "_id": id, "deletedAt": { "$exists": true }, "remains": nothing_left };
    app.collection::<NodeDocument>().remove(tombstone).await
}
