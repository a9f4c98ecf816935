//! Pages, blog entries, and the folders, blogs and galleries that group them: one collection, `nodes`.
//!
//! # What readers see
//!
//! An editor works on the draft: title, language and text in `metadata`, guarded by a nonce that changes
//! with them and with nothing else. Readers see editions, copies of a draft: `live` from its time on, and
//! `next` instead once its own has come. Each read asks the server's clock along with the document, so
//! that no sweep has to run at that moment; the sweep only puts a `next` that is due into the place of
//! `live`, where full text looks. Tags, place and access are no part of a version: they hold at once.
//!
//! `listed` names the feeds that content stands in, each once per audience (a role, or everyone), and
//! `publishedAt` its place there. A reader's feed is so one range of one index per role of the reader,
//! and what one may not read isn't looked at. Who may not read something gets the answer of who asks for
//! what isn't there.
//!
//! Pictures are assets (their room owns `assetEntries`): feeds by tag, by parent and within a path read
//! both side by side, each one range in the same order. What lies in folders and galleries follows their
//! paths, and keeps them from being deleted.
//!
//! # Who decides
//!
//! The document itself, for everything but `path` and `within`, which come down from what it lies in
//! ([`crate::mongo::tree`]). A path that changes joins `former` in the same update, and then goes from the
//! `former` of what had it before: whoever asks for it is led on, as long as nothing else has it. Moves
//! and deletions hold the lease `nodes.tree`.
//!
//! ```text
//!   edit:    draft ─▶ kept[] (decided) ─▶ nodeRevisions (given) ─▶ kept[] without it (settled)
//!   delete:  deleting ─▶ nothing in it ─▶ stone ─▶ its versions and comments go ─▶ op id forgotten: gone
//!                └─────── something ─▶ taken back
//! ```
//!
//! # Invariants
//!
//! Paths, `within` and `listed` equal what slugs, parents, tags and access imply. Something is published
//! exactly where `publishedAt` is, and `next` only comes after `live`. Former versions are those of
//! content that is there, each once, no more than [`operations::REVISIONS`] behind the newest. Nothing waits
//! for longer than sweeps need.

pub mod atom;
mod documents;
pub mod invariants;
mod markdown;
pub mod operations;
pub mod resolvers;
mod store;
pub mod sweep;
pub mod types;

pub use documents::{NodeDocument, RevisionDocument};
