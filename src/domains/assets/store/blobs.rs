//! Blobs: the GridFS files that assets name.

use std::ops::Range;

use mongodb::bson::{doc, oid::ObjectId};
use serde::{Deserialize, Serialize};

use super::{
    super::documents::{AssetDocument, BlobDocument, ChunkDocument},
    find_one,
};
use crate::{
    app::App,
    error::Error,
    mongo::{Outcome, Stored, collection::List, gridfs::Chunks, indexes::Index},
};

/// The chunks of all blobs.
pub(in super::super) fn chunks(app: &App) -> Chunks {
    Chunks::of(&app.collection::<ChunkDocument>())
}

pub(in super::super) async fn find_blob(
    app: &App,
    id: ObjectId,
) -> Result<Option<BlobDocument>, Error> {
    find_one(app, doc! { "_id": id }).await
}

/// Retires a blob that readers could see: it stays until the last download that may have begun is over. Returns
/// `false` if it was retired before or is gone.
pub(in super::super) async fn retire(app: &App, id: ObjectId) -> Result<bool, Error> {
    let transfer = i64::try_from(app.config().asset_transfer_seconds).unwrap_or(i64::MAX);
    let slack = i64::try_from(app.bounds().grace_period().as_millis()).unwrap_or(i64::MAX);
    let millis = transfer.saturating_mul(1_000).saturating_add(slack);
    let kept = doc! { "_id": id, "metadata.removeAfter": { "$exists": false } };
    let set = doc! { "$set": { "metadata.removeAfter": { "$add": ["$$NOW", millis] } } };
    let write = app.collection::<BlobDocument>().guarded(kept, vec![set]);
    Ok(write.apply().await.decided()?.is_some())
}

/// Removes the document of a blob, after its chunks.
pub(in super::super) async fn remove_blob(app: &App, id: ObjectId) -> Outcome<()> {
    app.collection::<BlobDocument>().remove(doc! { "_id": id }).await
}

/// The blobs in this range of ids that have a document, in order.
pub(in super::super) async fn list_blobs(
    app: &App,
    ids: Range<ObjectId>,
    limit: i64,
) -> Result<Vec<BlobDocument>, Error> {
    let filter = doc! { "_id": { "$gt": ids.start, "$lt": ids.end } };
    let sort = doc! { "_id": 1 };
    app.collection().list(List { filter, sort, limit, ..List::default() }).await
}

/// Which of these blobs an asset names in `field`: `file`, `upload` or `outbox`.
pub(in super::super) async fn list_named(
    app: &App,
    field: &str,
    blobs: &[ObjectId],
) -> Result<Vec<ObjectId>, Error> {
    #[derive(Serialize, Deserialize)]
    struct Named {
        blob: ObjectId,
    }
    #[derive(Serialize, Deserialize)]
    struct Names {
        file: Option<Named>,
        upload: Option<Named>,
        #[serde(default)]
        outbox: Vec<Named>,
    }
    impl Stored for Names {
        const COLLECTION: &'static str = AssetDocument::COLLECTION;
        const INDEXES: &'static [Index] = &[];
    }
    let path = format!("{field}.blob");
    let list = List {
        filter: doc! { &path: { "$in": blobs.to_vec() } },
        limit: i64::try_from(blobs.len().max(1)).unwrap_or(i64::MAX),
        projection: Some(doc! { path: 1 }),
        ..List::default()
    };
    let found = app.collection::<Names>().list(list).await?;
    let named = found.into_iter().flat_map(|Names { file, upload, outbox }| {
        file.into_iter().chain(upload).chain(outbox).map(|named| named.blob)
    });
    Ok(named.collect())
}
