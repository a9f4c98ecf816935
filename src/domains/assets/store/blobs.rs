//! Blobs: the GridFS files that assets name.

use std::ops::Range;

use mongodb::bson::{DateTime, doc, oid::ObjectId};
use serde::{Deserialize, Serialize};

use super::super::documents::{AssetDocument, BlobDocument, ChunkDocument};
use crate::{
    app::App,
    error::Error,
    mongo::{Outcome, Stored, collection::List, gridfs::Chunks, indexes::Index},
};

/// The chunks of all blobs.
pub(in super::super) fn chunks(app: &App) -> Chunks {
    Chunks::of(&app.collection::<ChunkDocument>())
}

pub(in super::super) async fn insert_blob(app: &App, blob: BlobDocument) -> Outcome<()> {
    app.collection().insert(blob).await
}

pub(in super::super) async fn find_blob(
    app: &App,
    id: ObjectId,
) -> Result<Option<BlobDocument>, Error> {
    let list = List { filter: doc! { "_id": id }, limit: 1, ..List::default() };
    Ok(app.collection::<BlobDocument>().list(list).await?.pop())
}

/// Retires a blob: it stays for as long as a download that has begun may take.
pub(in super::super) async fn retire(
    app: &App,
    id: ObjectId,
    millis: i64,
) -> Outcome<BlobDocument> {
    let kept = doc! { "_id": id, "metadata.removeAfter": { "$exists": false } };
    let set = doc! { "$set": { "metadata.removeAfter": { "$add": ["$$NOW", millis] } } };
    app.collection().guarded(kept, vec![set]).apply().await
}

/// Retired blobs that no download can still be reading.
pub(in super::super) async fn list_due_blobs(
    app: &App,
    now: DateTime,
    limit: i64,
) -> Result<Vec<BlobDocument>, Error> {
    let filter = doc! { "metadata.removeAfter": { "$lt": now } };
    let sort = doc! { "metadata.removeAfter": 1 };
    app.collection::<BlobDocument>().list(List { filter, sort, limit, ..List::default() }).await
}

/// Removes the document of a blob, after its chunks.
pub(in super::super) async fn remove_blob(app: &App, id: ObjectId) -> Outcome<()> {
    app.collection::<BlobDocument>().remove(doc! { "_id": id }).await
}

/// The blobs in this range of ids that have a document, in order, and whether each is retired.
pub(in super::super) async fn blob_ids(
    app: &App,
    ids: Range<ObjectId>,
    limit: i64,
) -> Result<Vec<(ObjectId, bool)>, Error> {
    #[derive(Serialize, Deserialize)]
    struct Known {
        #[serde(rename = "_id")]
        id: ObjectId,
        #[serde(default)]
        metadata: Retired,
    }
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Retired {
        #[serde(default)]
        remove_after: Option<DateTime>,
    }
    impl Stored for Known {
        const COLLECTION: &'static str = BlobDocument::COLLECTION;
        const INDEXES: &'static [Index] = &[];
    }
    let list = List {
        filter: doc! { "_id": { "$gt": ids.start, "$lt": ids.end } },
        sort: doc! { "_id": 1 },
        limit,
        projection: Some(doc! { "metadata.removeAfter": 1 }),
        ..List::default()
    };
    let found = app.collection::<Known>().list(list).await?;
    Ok(found.into_iter().map(|known| (known.id, known.metadata.remove_after.is_some())).collect())
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
