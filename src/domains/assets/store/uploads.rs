//! Uploads, whose writes are guarded by their token, and the blobs that they write.

use std::{ops::Range, time::Duration};

use mongodb::bson::oid::ObjectId;

use super::{
    super::documents::{
        AssetDocument, AssetKind, Attribute, BlobDocument, BlobHead, ChunkDocument, FileFacts,
        Upload,
    },
    assets, attributes_of_file, concat, listed_stage, outbox_with, outbox_with_file,
};
use crate::{
    graphql::prelude::*,
    mongo::{gridfs::Chunks, prelude::*},
};

/// What a caller expects of an asset, or at a path.
#[derive(Debug, Clone)]
pub enum Expected {
    /// Anything or nothing.
    Any,
    /// Nothing.
    Nothing,
    /// Any asset.
    Something,
    /// The asset in this version.
    Version(String),
    /// An asset whose file has one of these digests.
    Digest(Vec<String>),
}

impl Expected {
    /// The asset is the expected one.
    fn condition(&self) -> Condition {
        match self {
            Self::Any | Self::Nothing | Self::Something => Condition::All(Vec::new()),
            Self::Version(version) => is("metadata.nonce", version),
            Self::Digest(digests) => {
                Condition::Any(digests.iter().map(|digest| is("file.digest", digest)).collect())
            }
        }
    }

    /// Whether what was found is expected.
    pub(crate) fn is(&self, found: Option<&AssetDocument>) -> bool {
        match (self, found) {
            (Self::Any, _) | (Self::Nothing, None) => true,
            (Self::Nothing, Some(_)) | (_, None) => false,
            (_, Some(asset)) => self.condition().holds(&stored_fields(asset), asset.published_at),
        }
    }
}

/// Why an upload isn't committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotCommitted {
    /// The asset was deleted.
    Gone,
    /// The upload was aborted, or another attempt took it over.
    TakenOver,
    /// The asset isn't the expected one.
    Unexpected,
}

/// Reserves the upload of an asset whose first upload was interrupted. Its blob is added to the outbox.
pub(crate) fn resume_upload(
    app: &App,
    asset: &AssetDocument,
    upload: &Upload,
) -> Guarded<AssetDocument> {
    let unfinished = doc! { "file": { "$exists": false }, "input": &asset.input };
    reserve(app, &asset.id, upload, unfinished)
}

/// Reserves the replacement of a file if no other upload is in progress, except for one of the same op. That
/// one is taken over, and its blob is added to the outbox.
pub(crate) fn reserve_replacement(
    app: &App,
    id: &str,
    upload: &Upload,
    expected: &Expected,
) -> Guarded<AssetDocument> {
    let free = doc! {
        "file": { "$exists": true },
        "$or": [{ "upload": { "$exists": false } }, { "upload.op": &upload.op }],
    };
    reserve(app, id, upload, both(expected.condition().guard(), free))
}

/// Nothing tells a copy that arrives after the commit that the upload is over. It would reserve the blob that is the file by
/// then, and the sweep would remove it with the upload that stalls. So the write is numbered.
fn reserve(app: &App, id: &str, upload: &Upload, guard: Document) -> Guarded<AssetDocument> {
    let there = doc! {
        "_id": id, "deleting": { "$exists": false }, "deletedAt": { "$exists": false },
    };
    let upload = whole(doc! {
        "token": literal(&upload.token), "blob": upload.blob, "op": literal(&upload.op), "at": "$$NOW",
    });
    let set = doc! { "upload": upload, "outbox": outbox_with("upload", false) };
    assets(app).set(both(guard, there), set).numbered()
}

/// Renews an upload that is in progress.
pub(crate) fn renew(app: &App, id: &str, token: &str) -> Guarded<AssetDocument> {
    assets(app).set(owned(id, token), doc! { "upload.at": "$$NOW" })
}

/// Guard: the owner of the token may still commit the upload.
fn owned(id: &str, token: &str) -> Document {
    doc! { "_id": id, "upload.token": token, "deleting": { "$exists": false } }
}

/// Commits an upload: readers get the new file from here on, and the old blob is added to the outbox.
/// `expected` is absent for a first file. `attributes` are those that were read from the file. `op` is the op
/// with the file's digest in its input; `None` if the caller gave no idempotency key.
pub(crate) fn commit(
    app: &App,
    id: &str,
    token: &str,
    expected: Option<&Expected>,
    file: &FileFacts,
    attributes: &[Attribute],
    op: Option<&Op>,
) -> Change<NotCommitted> {
    let kind = if file.width.is_some() { AssetKind::Photo } else { AssetKind::File };
    let attributes: Vec<_> = attributes.iter().cloned().chain(file.attributes()).collect();
    let mut set = doc! {
        "file": { "$mergeObjects": [literal(stored(file)), { "at": "$$NOW" }] },
        "metadata.nonce": literal(app.ids().random()),
        "metadata.type": literal(stored(&kind)),
        "attributes": concat([attributes_of_file(false), literal(stored(&attributes))]),
        "outbox": outbox_with_file(),
    };
    let mut rules = vec![
        (is_absent("deleting"), NotCommitted::Gone),
        (is_absent("deletedAt"), NotCommitted::Gone),
        (is("upload.token", token), NotCommitted::TakenOver),
    ];
    match expected {
        Some(expected) => rules.push((expected.condition(), NotCommitted::Unexpected)),
        None => {
            set.insert("origin", op.map(|op| literal(&op.input)));
        }
    }
    let change = Change::ruled(id, rules, set).then([doc! { "$unset": "upload" }, listed_stage()]);
    match op.filter(|_| expected.is_some()) {
        Some(op) => change.committing(op, &op.id, app.bounds()),
        None => change,
    }
}

/// Aborts an upload: the owner of the token can't commit it any more, and its blob is added to the outbox.
/// With `stalled`, only if it wasn't renewed for that long.
pub(crate) fn abort(
    app: &App,
    id: &str,
    token: &str,
    stalled: Option<Duration>,
) -> Guarded<AssetDocument> {
    let mut guard = owned(id, token);
    if let Some(stalled) = stalled {
        guard = both(guard, older_than("upload.at", stalled));
    }
    let set = doc! { "$set": {
        "outbox": outbox_with("upload", false),
        "deleting": choose(is_missing("file"), "$$NOW", "$$REMOVE"),
    } };
    assets(app).guarded(guard, vec![set, doc! { "$unset": "upload" }])
}

/// Removes these entries from the outbox, after they were applied.
pub(crate) fn settle_removals(app: &App, asset: &AssetDocument) -> Guarded<AssetDocument> {
    let done = asset.outbox.iter().map(|removal| removal.blob).collect();
    let left = without_any(array("outbox"), "blob", done);
    assets(app).set(doc! { "_id": &asset.id }, doc! { "outbox": left })
}

/// Removes an asset whose first upload was aborted, after its outbox was applied. Nothing is added to the
/// outbox any more.
pub(crate) async fn remove_aborted(app: &App, id: &str) -> Outcome<()> {
    let aborted = doc! {
        "_id": id, "deleting": { "$exists": true }, "deletedAt": { "$exists": false },
    };
    assets(app).remove(aborted).await
}

/// The collection of the blobs' own documents.
pub(crate) fn blobs(app: &App) -> Collection<BlobDocument> {
    app.collection()
}

/// The chunks of all blobs.
pub(crate) fn chunks(app: &App) -> Chunks {
    Chunks::of(&app.collection::<ChunkDocument>())
}

pub(crate) async fn find_blob(app: &App, id: ObjectId) -> Result<Option<BlobDocument>> {
    blobs(app).first(List { filter: doc! { "_id": id }, ..List::default() }).await
}

/// The field of a blob's version.
const VERSION: &str = "metadata.v";

/// Condition: the version of a blob isn't newer than the one that is known.
fn known() -> Document {
    doc! { "$not": { "$gt": 1 } }
}

/// Retires a blob that readers could see: it stays until the last download that may have begun is over. Returns
/// `false` if it was retired before or is gone.
pub(crate) async fn retire(app: &App, id: ObjectId) -> Result<bool> {
    let transfer = Duration::from_secs(app.config().asset_transfer_seconds);
    let longest = millis(transfer.saturating_add(app.bounds().grace_period()));
    let kept = doc! { "_id": id, "metadata.removeAfter": { "$exists": false }, VERSION: known() };
    let set = doc! { "metadata.removeAfter": { "$add": ["$$NOW", longest] } };
    blobs(app).set(kept, set).held().await
}

/// Removes the document of a blob, after its chunks.
pub(crate) async fn remove_blob(app: &App, id: ObjectId) -> Outcome<()> {
    blobs(app).remove(doc! { "_id": id, VERSION: known() }).await
}

/// Whether a blob has a document, of whatever version.
pub(crate) async fn has_document(app: &App, id: ObjectId) -> Result<bool> {
    Ok(blobs(app).count(doc! { "_id": id }, 1).await? > 0)
}

/// The blobs in this range of ids that have a document, in order.
pub(crate) async fn list_blobs(
    app: &App,
    ids: Range<ObjectId>,
    limit: i64,
) -> Result<Vec<BlobHead>> {
    let filter = doc! { "_id": { "$gt": ids.start, "$lt": ids.end } };
    let list = List { filter, sort: doc! { "_id": 1 }, limit, ..List::default() };
    app.collection().list(list).await
}

/// Which of these blobs an asset names in `field`: `file`, `file.renditions`, `upload` or `outbox`.
pub(crate) async fn list_named(
    app: &App,
    field: &str,
    blobs: &[ObjectId],
) -> Result<Vec<ObjectId>> {
    let path = format!("{field}.blob");
    let pipeline = vec![
        doc! { "$match": { &path: { "$in": blobs.to_vec() } } },
        // A field that isn't an array is unwound like an array of one element.
        doc! { "$unwind": format!("${field}") },
        doc! { "$project": { "blob": format!("${path}") } },
    ];
    let named = assets(app).aggregate(pipeline).await?;
    let blob = |named: &Document| named.get_object_id("blob").map_err(Error::internal);
    named.iter().map(blob).collect()
}
