//! Assets: files with their metadata, in folders and galleries or at the root.
//!
//! An asset's document names a *blob*: a GridFS file in the bucket `assets` that never changes. A download
//! reads the document, then the blob's chunks; later changes of the asset don't affect these.
//!
//! # Uploads: the asset's document is the decider
//!
//! ```text
//!   (insert, with `upload`) ─▶ chunks … ─▶ blob's document ─▶ finished: `file`
//!            │ reserve, for a replacement: `upload` beside `file`  │ the old blob into the outbox
//!            └─▶ aborted: the new blob into the outbox             ▼
//!                                              outbox: shown ─▶ retired, removed when nobody reads it
//!                                                      unseen ─▶ removed
//! ```
//!
//! 1. *Reserve*: `upload {token, blob, at, op}` is written before the first chunk, and only if no other upload
//!    is in progress: `upload` is the lock. `at` is renewed while chunks are written.
//! 2. *Commit*: one update, guarded by the token, replaces the old file with the new one. Before it the new
//!    bytes are invisible; after it the old ones are only read by downloads that began before.
//! 3. *Apply*: a blob that readers could see is retired: its own document states until when a download may
//!    still read it. A blob that was never visible is removed.
//! 4. *Settle*: the entry is removed from the outbox. A document whose first upload was aborted is removed.
//!
//! An upload is aborted by one update that is guarded by the token, too. After it the attempt can't commit any
//! more, whatever writes of it are still in flight, so no deadline is needed. Its gateway aborts an upload at
//! once if the client sent too little, too much or a file that isn't allowed. The sweep aborts it after
//! `asset_stall_seconds` without a renewal. A repeat of the same op aborts it and starts again.
//!
//! # Deletion
//!
//! One update removes `file` and `upload`, adds their blobs to the outbox, frees the slug and sets `deleting` and
//! `deletedAt`. Two grace periods later no attempt can still write into its discussion, and the sweep removes the
//! comments. A tombstone with the `_id` remains for as long as ops are remembered, so neither a repeat of the
//! upload nor a late insert creates the asset again.
//!
//! # Blobs that no asset names
//!
//! A delayed command may write a chunk after its file was removed. The sweep searches for blobs that no asset
//! names. It reads the fields in the order in which a blob can move (`upload`, `file` or `file.renditions`, `outbox`, retired), so
//! that a moving blob isn't missed. A blob's id contains the start of its upload, and nothing is written later
//! than `asset_transfer_seconds` after that. So each search begins at the time of the previous search less
//! `asset_transfer_seconds`.
//!
//! # Renditions
//!
//! A picture in a smaller size is a blob of its own, whose document names the original and the width. It is made at the
//! first request for it. One update writes it to `file.renditions`, guarded by the file's blob. So each width has one
//! rendition, and a file that was just replaced has none. The updates that add the file's blob to the outbox add those
//! of its renditions too. Its blob is written and committed within one attempt. If the attempt is cut, no asset names
//! the blob, and the search finds it.
//!
//! # Parents
//!
//! Content owns the folders and galleries. A new asset is inserted, then its parent is read again; the
//! deletion of a folder first marks the folder and then counts its assets. `path` is derived from the
//! parent's path; its version is the parent's (`parentCv`). Content calls [`operations::repath`] when a
//! folder moves.
//!
//! # Invariants
//!
//! A finished asset has its blob with all chunks, with the stored length and digest, and so has each rendition. No blob
//! and no chunk is without an asset, except for retired blobs. Paths and lists follow from parent, slug, tags and access.

mod documents;
pub mod invariants;
pub mod operations;
mod person;
pub mod resolvers;
mod settings;
mod store;
mod sweep;
pub mod types;
mod view;

use super::{
    Room, audiences, broadcasts::broadcasts, comments::Discussable, metadata::MetadataOwner,
    nodes::node_type, room::documented,
};
use crate::{
    graphql::prelude::*,
    mongo::{
        Stored,
        condition::{Condition, exists, is_absent, is_past},
    },
};
pub use documents::{AssetDocument, BlobDocument, ChunkDocument, FileFacts};
pub use types::Asset;
use types::AssetBy;

impl NodeKind {
    /// An asset: a file with its metadata.
    pub const ASSET: Self = Self::new("asset");
}

/// The discussions of assets.
pub const DISCUSSED: Discussable = Discussable {
    kind: NodeKind::ASSET,
    collection: AssetDocument::COLLECTION,
    opened_by: Role::Editor,
    is_read_whole: true,
    seen_by: |requester| {
        let published = audiences::seen_by(requester, is_past("publishedAt"));
        Condition::All(vec![exists("file"), is_absent("deleting"), published])
    },
};

pub const ROOM: Room = Room {
    needs: &["comments", "identities"],
    extends: &[
        ("Category", "images"),
        ("Person", "images"),
        ("Product", "images"),
        ("ProductVariant", "image"),
    ],
    faults: Some(settings::faults),
    nodes: &[node_type!(ASSET: Asset, |cx, id| {
        operations::asset(cx, AssetBy::Id(id.clone()))
    })],
    discussed: &[DISCUSSED],
    metadata: &[MetadataOwner::of::<AssetDocument>(NodeKind::ASSET, Role::Editor, || {
        Condition::All(vec![exists("file"), is_absent("deleting")])
    })],
    documents: &[
        documented::<AssetDocument>(),
        documented::<BlobDocument>(),
        documented::<ChunkDocument>(),
    ],
    broadcasts: broadcasts! {
        "assets.files" {
            find "metadata.removeAfter" = "sweep: files that were let go",
        }
        "assets.chunks" {
            aggregate "files_id" = "sweep: chunks of files that no asset names, by a range of ids",
        }
    },
    personal: person::PERSONAL,
    erase: Some(|app, erasing| Box::pin(person::erase(app, erasing))),
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    repair: Some(|app, _| Box::pin(invariants::repair(app))),
    ..Room::new("assets")
};
