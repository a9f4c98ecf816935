//! Uploads: reserve, renew, commit and abort, guarded by the token.

use mongodb::bson::{DateTime, Document, doc};

use super::{
    super::documents::{AssetDocument, AssetKind, Attribute, FileFacts, Upload},
    concat, let_go, of_people, relist,
};
use crate::{
    app::App,
    error::Error,
    flow::Op,
    mongo::{
        Outcome,
        collection::List,
        expression::{array, both, literal, older_than, stored, whole},
    },
};

/// The version of an asset that a caller expects.
#[derive(Debug, Clone, Default)]
pub(in super::super) enum Expected {
    /// Any version.
    #[default]
    Any,
    /// The version with this nonce.
    Nonce(String),
    /// A version whose file has one of these digests.
    Digest(Vec<String>),
}

impl Expected {
    fn filter(&self) -> Document {
        match self {
            Self::Any => Document::new(),
            Self::Nonce(nonce) => doc! { "metadata.nonce": nonce },
            Self::Digest(digests) => doc! { "file.digest": { "$in": digests } },
        }
    }

    /// Whether the asset has the expected version.
    pub(in super::super) fn is(&self, asset: &AssetDocument) -> bool {
        match self {
            Self::Any => true,
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
    let begun = whole(doc! {
        "token": literal(&upload.token), "blob": upload.blob, "op": literal(&upload.op), "at": "$$NOW",
    });
    let set = doc! { "$set": { "upload": begun, "outbox": let_go("upload", false) } };
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

/// The commit of a finished upload.
#[derive(Debug)]
pub(in super::super) struct Finish<'a> {
    pub id: &'a str,
    pub token: &'a str,
    pub file: &'a FileFacts,
    pub kind: AssetKind,
    /// Attributes that are read from the file.
    pub attributes: &'a [Attribute],
    pub nonce: &'a str,
    pub purpose: Purpose<'a>,
    /// The op, with the file's digest in its input; `None` if the caller gave no idempotency key.
    pub op: Option<&'a Op>,
}

/// Commits an upload: readers get the new file from here on, and the old blob is added to the outbox.
pub(in super::super) async fn finish(app: &App, finish: Finish<'_>) -> Outcome<AssetDocument> {
    let Finish { id, token, file, kind, attributes, nonce, purpose, op } = finish;
    let file = doc! { "$mergeObjects": [literal(stored(file)), { "at": "$$NOW" }] };
    let mut set = doc! {
        "file": file,
        "metadata.nonce": literal(nonce),
        "metadata.type": literal(stored(&kind)),
        "attributes": concat(of_people(array("attributes")), literal(stored(&attributes))),
        "outbox": let_go("file", true),
    };
    let mut guard = mine(id, token);
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
        "outbox": let_go("upload", false),
        "deleting": { "$cond": [unseen, "$$NOW", "$$REMOVE"] },
    } };
    app.collection().guarded(guard, vec![set, doc! { "$unset": "upload" }]).apply().await
}

/// Uploads that weren't renewed since then.
pub(in super::super) async fn list_stalled(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<AssetDocument>, Error> {
    let filter = doc! { "upload.at": { "$lt": before } };
    let sort = doc! { "upload.at": 1 };
    app.collection::<AssetDocument>().list(List { filter, sort, limit, ..List::default() }).await
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
