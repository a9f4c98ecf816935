//! Metadata: pairs of a key and a typed value on documents of any room, for the fields that a site needs beside those of
//! the schema.
//!
//! This module is below the rooms and isn't one of them: it has no collection, and it can't be switched off. A room opts in
//! by one line, a [`MetadataOwner`] in `ROOM.metadata`. Its documents have the field `meta?: Box<MetadataPairs>`, and its
//! type in the schema the field `metadata`. If the room has a list of its documents by a pair, its collection has the index
//! [`METADATA`], and the list the filter of [`operations::having`]. A list for those who edit the documents needs no readers in its
//! index: [`operations::having_for_editors`].
//!
//! # One write
//!
//! `setMetadata` is one guarded update of the owner's document. The pairs are an array of `{key, value, readers}`, so a key
//! from outside never becomes the path of a field. Keys are independent of each other: two callers that set different keys
//! both succeed. A caller that gives the version that it read is refused if any pair has changed since; the next version is
//! derived from this one and the input, so it identifies a repeat. The guard also bounds the number of pairs and the sum of
//! their bytes.
//!
//! # Readers
//!
//! A pair has its readers: `everyone`, or the roles that were named and the role that edits the owner. A caller sees
//! only pairs whose readers include the caller, and finds documents only by these. The index holds each pair once per
//! reader, and a search looks up the caller's roles in it. So a search examines only documents that the caller finds.

mod documents;
pub mod operations;
pub mod resolvers;
mod store;
pub mod types;

use super::Room;
use crate::{
    graphql::{node_id::NodeKind, requester::Role},
    mongo::{Stored, condition::Condition},
};
pub use documents::{METADATA, MetadataPairs};
pub use types::{Metadata, MetadataFilter};

/// A kind of documents that have metadata, as its room declares it.
#[derive(Debug)]
pub struct MetadataOwner {
    /// The kind of its global ids.
    pub kind: NodeKind,
    /// The collection of its documents.
    pub collection: &'static str,
    /// The role that changes the pairs, and reads all of them.
    pub edited_by: Role,
    /// The condition that a document exists for the editors of the room.
    pub exists: fn() -> Condition,
}

impl MetadataOwner {
    /// The documents of `T`.
    pub const fn of<T: Stored>(kind: NodeKind, edited_by: Role, exists: fn() -> Condition) -> Self {
        Self { kind, collection: T::COLLECTION, edited_by, exists }
    }
}

/// The owner of the root field. It isn't one of the [`ROOMS`](super::ROOMS).
pub const ROOM: Room = Room::new("metadata");
