//! Writes of renditions: pictures in smaller sizes, which the asset's file names.

use mongodb::bson::oid::ObjectId;

use super::{
    super::documents::{AssetDocument, Rendition},
    assets,
};
use crate::{graphql::prelude::*, mongo::prelude::*};

/// Commits a rendition of the file with the blob `original`, unless there is one for its width.
pub(crate) fn add_rendition(
    app: &App,
    id: &str,
    original: ObjectId,
    rendition: &Rendition,
) -> Guarded<AssetDocument> {
    let guard = doc! {
        "_id": id,
        "file.blob": original,
        "file.renditions.for": { "$ne": rendition.wanted },
        "deleting": { "$exists": false },
    };
    let longer = append(array("file.renditions"), vec![literal(stored(rendition))]);
    // If the reply is lost, the blob tells whether this rendition was added or another one.
    let added = doc! { "_id": id, "file.renditions.blob": rendition.blob };
    assets(app).set(guard, doc! { "file.renditions": longer }).applied_if(added)
}

/// Removes a rendition whose blob is damaged; the next caller makes it again. Its blob is added to the outbox.
pub(crate) fn drop_rendition(app: &App, id: &str, blob: ObjectId) -> Guarded<AssetDocument> {
    let entry = whole(doc! { "blob": blob, "shown": false, "at": "$$NOW" });
    let set = doc! {
        "file.renditions": without(array("file.renditions"), "blob", blob),
        "outbox": append(array("outbox"), vec![entry]),
    };
    assets(app).set(doc! { "_id": id, "file.renditions.blob": blob }, set)
}
