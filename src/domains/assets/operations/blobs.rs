//! Blobs: the files of GridFS that hold the bytes of assets.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use mongodb::bson::oid::ObjectId;

use super::super::{
    documents::{BlobDocument, BlobMetadata, FileFacts},
    store,
};
use crate::{
    graphql::prelude::*,
    mongo::{Version, gridfs::CHUNK},
};

/// The id of a new blob, which contains the current time.
pub(super) fn new_blob(app: &App, attempt: &Attempt) -> ObjectId {
    let seconds = u32::try_from(attempt.now().timestamp_millis() / 1_000).unwrap_or(u32::MAX);
    let mut id = [0; 12];
    id[..4].copy_from_slice(&seconds.to_be_bytes());
    id[4..].copy_from_slice(&app.ids().random_bytes()[..8]);
    ObjectId::from_bytes(id)
}

/// Writes the document of a file's blob, after its chunks. `of` are the original and the width of a rendition.
pub(super) async fn insert(app: &App, file: &FileFacts, of: Option<(ObjectId, i64)>) -> Result<()> {
    let document = BlobDocument {
        id: file.blob,
        length: file.length,
        chunk_size: i32::try_from(CHUNK).unwrap_or(i32::MAX),
        upload_date: file.at,
        filename: file.name.clone(),
        metadata: BlobMetadata {
            content_type: file.media_type.clone(),
            sha256: file.digest.clone(),
            remove_after: None,
            original: of.map(|(original, _)| original),
            width: of.map(|(_, width)| width),
            v: Version,
        },
    };
    let inserted = store::blobs(app).insert(&document).await.decided()?;
    inserted.ok_or_else(|| Error::internal("a blob's id was taken"))
}

/// The bytes of a file in the given range, in order. Later changes of the asset don't affect them. After the
/// maximum duration of a download they end with an error.
pub fn bytes(
    app: &App,
    file: &FileFacts,
    range: Range<u64>,
) -> impl Stream<Item = Result<Bytes>> + Send + use<> {
    let longest = Duration::from_secs(app.config().asset_transfer_seconds);
    let since = Instant::now();
    let length = u64::try_from(file.length).unwrap_or(0);
    store::chunks(app).read(file.blob, length, range).map(move |piece| {
        if since.elapsed() > longest {
            return Err(Error::unavailable("a download took longer than it may"));
        }
        piece
    })
}

/// Removes a blob that no reader can see; returns whether it had a document. Its chunks are first: as long as
/// the document exists, an interrupted removal of a retired blob is found again.
pub(crate) async fn discard(app: &App, blob: ObjectId) -> Result<bool> {
    store::chunks(app).remove(blob).await?;
    Ok(store::remove_blob(app, blob).await.decided()?.is_some())
}

/// Removes a blob that wasn't committed, because another attempt was first. Failures are logged and left to the sweep.
pub(super) async fn discard_uncommitted(app: &App, asset: &str, blob: ObjectId) {
    if let Err(error) = discard(app, blob).await {
        tracing::warn!(
            event = "asset_blob_removal_failed",
            asset,
            ?error,
            "a blob that wasn't committed could not be removed; the sweep repeats it"
        );
    }
}
