//! Uploads: reserve, renew, commit and abort, guarded by the token.

use mongodb::bson::{Document, doc};

use super::{
    super::documents::{AssetDocument, AssetKind, Attribute, FileFacts, Upload},
    attributes_of_file, concat, outbox_with, relist,
};
use crate::{
    app::App,
    flow::Op,
    mongo::{
        Outcome,
        expression::{both, literal, older_than, stored, whole},
    },
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
    /// The asset in the version with this nonce.
    Nonce(String),
    /// An asset whose file has one of these digests.
    Digest(Vec<String>),
}

impl Expected {
    fn filter(&self) -> Document {
        match self {
            Self::Any | Self::Nothing | Self::Something => Document::new(),
            Self::Nonce(nonce) => doc! { "metadata.nonce": nonce },
            Self::Digest(digests) => doc! { "file.digest": { "$in": digests } },
        }
    }

    /// Whether the asset is the expected one.
    pub(in super::super) fn is(&self, asset: &AssetDocument) -> bool {
        match self {
            Self::Any | Self::Something => true,
            Self::Nothing => false,
            Self::Nonce(nonce) => asset.metadata.nonce == *nonce,
            Self::Digest(digests) => {
                asset.file.as_ref().is_some_and(|file| digests.contains(&file.digest))
            }
        }
    }
}

/// Purpose of an upload.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Purpose<'a> {
    /// The first file of an asset that this input created.
    First {
        /// Digest of the input.
        input: &'a str,
    },
    /// Replaces the file of the expected version.
    Replace(&'a Expected),
}

/// Reserves the upload of an existing asset that has none in progress, except for one of the same op. That
/// one is taken over, and its blob is added to the outbox.
pub(in super::super) async fn take_upload(
    app: &App,
    id: &str,
    upload: &Upload,
    purpose: Purpose<'_>,
) -> Outcome<AssetDocument> {
    let there = doc! {
        "_id": id, "deleting": { "$exists": false }, "deletedAt": { "$exists": false },
    };
    let condition = match purpose {
        Purpose::First { input } => doc! { "file": { "$exists": false }, "input": input },
        Purpose::Replace(expected) => {
            let free = doc! {
                "file": { "$exists": true },
                "$or": [{ "upload": { "$exists": false } }, { "upload.op": &upload.op }],
            };
            both(expected.filter(), free)
        }
    };
    let taken = whole(doc! {
        "token": literal(&upload.token), "blob": upload.blob, "op": literal(&upload.op), "at": "$$NOW",
    });
    let set = doc! { "$set": { "upload": taken, "outbox": outbox_with("upload", false) } };
    app.collection().guarded(both(condition, there), vec![set]).apply().await
}

/// Renews an upload that is in progress.
pub(in super::super) async fn renew(app: &App, id: &str, token: &str) -> Outcome<AssetDocument> {
    let set = doc! { "$set": { "upload.at": "$$NOW" } };
    app.collection().guarded(mine(id, token), vec![set]).apply().await
}

fn mine(id: &str, token: &str) -> Document {
    doc! { "_id": id, "upload.token": token, "deleting": { "$exists": false } }
}

/// Commits an upload: readers get the new file from here on, and the old blob is added to the outbox.
/// `attributes` are those that were read from the file. `op` is the op with the file's digest in its input;
/// `None` if the caller gave no idempotency key.
pub(in super::super) async fn finish(
    app: &App,
    id: &str,
    upload: &Upload,
    purpose: Purpose<'_>,
    file: &FileFacts,
    attributes: &[Attribute],
    op: Option<&Op>,
) -> Outcome<AssetDocument> {
    let kind = if file.width.is_some() { AssetKind::Photo } else { AssetKind::File };
    let file = doc! { "$mergeObjects": [literal(stored(file)), { "at": "$$NOW" }] };
    let mut set = doc! {
        "file": file,
        "metadata.nonce": literal(app.ids().random()),
        "metadata.type": literal(stored(&kind)),
        "attributes": concat(attributes_of_file("$ne"), literal(stored(&attributes))),
        "outbox": outbox_with("file", true),
    };
    let mut guard = mine(id, &upload.token);
    match (purpose, op) {
        (Purpose::First { .. }, op) => {
            set.insert("origin", op.map(|op| literal(&op.input)));
        }
        (Purpose::Replace(expected), op) => {
            guard = both(expected.filter(), guard);
            if let Some(op) = op {
                set.insert("ops", op.applied(&op.id, app.bounds()));
                guard = both(guard, op.guard(&op.id, app.bounds()));
            }
        }
    }
    let stages = vec![doc! { "$set": set }, doc! { "$unset": "upload" }, relist()];
    app.collection().guarded(guard, stages).apply().await
}

/// Aborts an upload: the owner of the token can't commit it any more, and its blob is added to the outbox.
/// With `stalled`, only if it wasn't renewed for that many milliseconds.
pub(in super::super) async fn abandon(
    app: &App,
    id: &str,
    token: &str,
    stalled: Option<i64>,
) -> Outcome<AssetDocument> {
    let mut guard = mine(id, token);
    if let Some(millis) = stalled {
        guard = both(guard, older_than("upload.at", millis));
    }
    let unseen = doc! { "$eq": [{ "$type": "$file" }, "missing"] };
    let set = doc! { "$set": {
        "outbox": outbox_with("upload", false),
        "deleting": { "$cond": [unseen, "$$NOW", "$$REMOVE"] },
    } };
    app.collection().guarded(guard, vec![set, doc! { "$unset": "upload" }]).apply().await
}

/// Removes these entries from the outbox, after they were applied.
pub(in super::super) async fn settle_removals(
    app: &App,
    asset: &AssetDocument,
) -> Outcome<AssetDocument> {
    let done: Vec<_> = asset.outbox.iter().map(|removal| removal.blob).collect();
    let pull = doc! { "$pull": { "outbox": { "blob": { "$in": done } } } };
    app.collection().guarded(doc! { "_id": &asset.id }, pull).apply().await
}

/// Removes an asset whose first upload was aborted, after its outbox was applied. Nothing is added to the
/// outbox any more.
pub(in super::super) async fn remove_settled(app: &App, id: &str) -> Outcome<()> {
    let gone = doc! {
        "_id": id, "deleting": { "$exists": true }, "deletedAt": { "$exists": false },
    };
    app.collection::<AssetDocument>().remove(gone).await
}
