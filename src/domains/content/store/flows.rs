//! Writes of creation and moves, and of work that continues after an answer.

use mongodb::bson::{Bson, DateTime, doc};

use super::{
    super::documents::{NodeDocument, RevisionDocument},
    there, tree,
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::scalars::Slug,
    mongo::{
        Outcome,
        collection::List,
        expression::{array, filter, literal, stored},
    },
};

pub(in super::super) async fn insert(app: &App, node: NodeDocument) -> Outcome<()> {
    app.collection().insert(node).await
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
    tree(app).put_below(there(id), parent, vec![slug], change, attempt).await
}

/// Stores a former version; refused if it is stored already.
pub(in super::super) async fn insert_revision(
    app: &App,
    revision: RevisionDocument,
) -> Outcome<()> {
    app.collection().insert(revision).await
}

/// Removes the former versions up to this number, including late ones.
pub(in super::super) async fn drop_older_revisions(
    app: &App,
    id: &str,
    number: i64,
) -> Result<(), Error> {
    let older = doc! { "nodeId": id, "version.number": { "$lte": number } };
    app.collection::<RevisionDocument>().remove_many(older).await?;
    Ok(())
}

/// Removes every former version of deleted content.
pub(in super::super) async fn drop_revisions(app: &App, id: &str) -> Result<(), Error> {
    app.collection::<RevisionDocument>().remove_many(doc! { "nodeId": id }).await?;
    Ok(())
}

/// Notes that these versions are stored.
pub(in super::super) async fn settle_kept(
    app: &App,
    id: &str,
    numbers: &[i64],
) -> Outcome<NodeDocument> {
    let pull = doc! { "$pull": { "kept": { "number": { "$in": numbers } } } };
    app.collection().guarded(doc! { "_id": id }, pull).apply().await
}

/// Removes a path that these nodes left from the `former` of nodes that left it earlier. Requests for the
/// path are redirected to the last one, so the others aren't needed.
pub(super) async fn drop_older_former(app: &App, nodes: &[NodeDocument]) -> Result<(), Error> {
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
    app.collection::<NodeDocument>().update_many(had, set, Vec::new()).await?;
    Ok(())
}

/// Promotes a due `next` to `live`.
pub(in super::super) async fn promote(app: &App, id: &str) -> Outcome<NodeDocument> {
    let due = doc! { "_id": id, "next": { "$exists": true },
    "$expr": { "$lte": ["$next.at", "$$NOW"] } };
    let stages = vec![doc! { "$set": { "live": "$next" } }, doc! { "$unset": "next" }];
    app.collection().guarded(due, stages).apply().await
}

/// Content whose next edition is due.
pub(in super::super) async fn list_due(
    app: &App,
    now: DateTime,
    limit: i64,
) -> Result<Vec<NodeDocument>, Error> {
    list_older(app, "next.at", now, limit).await
}

/// Content with replaced versions from before `before` that aren't stored yet.
pub(in super::super) async fn list_kept(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<NodeDocument>, Error> {
    list_older(app, "kept.at", before, limit).await
}

/// Content that was deleted before `before` and may still have former versions and comments.
pub(in super::super) async fn list_remains(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<NodeDocument>, Error> {
    list_older(app, "remains", before, limit).await
}

/// Tombstones from before `before`.
pub(in super::super) async fn list_deleted(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<NodeDocument>, Error> {
    list_older(app, "deletedAt", before, limit).await
}

async fn list_older(
    app: &App,
    field: &'static str,
    before: DateTime,
    limit: i64,
) -> Result<Vec<NodeDocument>, Error> {
    let filter = doc! { field: { "$lt": Bson::DateTime(before) } };
    let sort = doc! { field: 1 };
    app.collection::<NodeDocument>().list(List { filter, sort, limit, ..List::default() }).await
}

/// Notes that only the tombstone of deleted content is left.
pub(in super::super) async fn settle_remains(app: &App, id: &str) -> Outcome<NodeDocument> {
    let unset = doc! { "$unset": { "remains": "", "discussion": "" } };
    let stone = doc! { "_id": id, "remains": { "$exists": true } };
    app.collection().guarded(stone, unset).apply().await
}

pub(in super::super) async fn remove_stone(app: &App, id: &str) -> Outcome<()> {
    let nothing_left = doc! { "$exists": false };
    let stone = doc! { "_id": id, "deletedAt": { "$exists": true }, "remains": nothing_left };
    app.collection::<NodeDocument>().remove(stone).await
}
