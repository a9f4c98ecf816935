//! Assets: files with what is known of them, below folders and galleries or by themselves.
//!
//! An asset's document names a *blob*: a GridFS file in the bucket `assets` that never changes. Readers
//! read the document, then the blob's chunks; what is done to the asset meanwhile doesn't touch these.
//!
//! # An upload, decided by the asset's document
//!
//! ```text
//!   (insert, with `upload`) ─▶ chunks … ─▶ blob's document ─▶ finished: `file`
//!            │ take, for a replacement: `upload` beside `file`     │ the old blob into the outbox
//!            └─▶ given up: the new blob into the outbox            ▼
//!                                              outbox: shown ─▶ let go, removed when nobody reads it
//!                                                      unseen ─▶ removed
//! ```
//!
//! 1. *Take*: `upload {token, blob, at, op}` is written before the first chunk, and only where no other
//!    upload is under way: it is the lock. `at` is renewed as chunks go.
//! 2. *Decide*: one update, guarded by the token, puts the new file in the place of the old one. Before
//!    it nobody sees the new bytes, after it nobody gets the old ones who didn't begin before.
//! 3. *Give*: a blob that readers got is let go: its own document says until when somebody may still be
//!    reading it. One that nobody saw is removed.
//! 4. *Settle*: the entry leaves the outbox; a document that was given up before it had a file goes.
//!
//! Whoever gives an upload up does so by one update that is guarded by the token too: who had it can't
//! finish any more, whatever of its is still on the way. So no deadline is needed. That is a client that
//! sent too little, too much or the wrong thing (its gateway gives up at once), the sweep after
//! `asset_stall_seconds` without a sign of life, or a repeat of the same op, which begins anew.
//!
//! # Deletion
//!
//! One update takes `file` and `upload` away, puts their blobs into the outbox, frees the slug and marks the
//! document `deleting` and `deletedAt`. Two bounds later, when no run is left that could still write into its
//! discussion, the sweep removes the comments. What stays is a stone with the `_id`, for as long as ops are
//! remembered: a repeat of the upload, or an insert that comes late, doesn't make the asset again.
//!
//! # What nothing names
//!
//! A command that was long on its way may write a chunk after its file was removed. The sweep looks for
//! blobs that no asset names, in the order in which a blob can move (`upload`, `file`, `outbox`, let go),
//! so that none is missed while it does. A blob's id tells when its upload began, and nothing is written
//! later than `asset_transfer_seconds` after that: each look begins so long before the last one.
//!
//! # Parents
//!
//! Content owns the folders and galleries. A new asset is inserted, then its parent is read again: who
//! deletes a folder marks it first and counts its assets then. `path` is a copy of the parent's and
//! goes by the version of that (`parentCv`); content calls [`operations::repath`] when it moves.
//!
//! # Invariants
//!
//! A finished asset has its blob with all its chunks, of that length and digest. No blob and no chunk is
//! without an asset, but for blobs that were let go. Paths and lists are what parent, slug, tags and
//! access imply.

mod documents;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
pub mod sweep;
pub mod types;

pub use documents::{AssetDocument, BlobDocument, ChunkDocument, FileFacts};
