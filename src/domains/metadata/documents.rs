//! The stored form of metadata inside the document of its owner.

use super::MetadataOwner;
use crate::{
    config::Config,
    domains::metadata_owners,
    graphql::{node_id, prelude::*},
    mongo::prelude::*,
};

/// The reader of a pair that isn't restricted to roles. No role has this name.
pub(super) const EVERYONE: &str = "everyone";
/// Maximum size of the pairs of one owner, in bytes of BSON.
pub(super) const BYTES: i64 = 64 * 1024;

/// The index of a collection of which a list is filtered by a pair. It has each pair once per reader.
pub const METADATA: Index = Index::of(
    "metadata",
    "meta.pairs.key meta.pairs.value meta.pairs.readers _id",
    "meta.version",
    "documents with a pair of metadata, for each reader",
);

document! {
    /// The metadata of a document. Other rooms embed it as `meta?: Box<MetadataPairs>`, and never write it.
    #[derive(PartialEq)]
    pub struct MetadataPairs {
        /// Changes with every change of a pair.
        pub version: String,
        /// The pairs, sorted by key; each key occurs once.
        pub pairs: Vec<StoredPair>,
    }

    /// A pair of a key and a value.
    #[derive(PartialEq)]
    pub struct StoredPair {
        pub key: String,
        /// A text, a number, a moment or a boolean; values are compared only with values of the same type.
        pub value: Bson,
        /// `everyone`, or the names of the roles that may read it, a sorted set.
        pub readers: Vec<String>,
    }

    /// A document with metadata, as this module reads it. Each kind has a collection of its own.
    pub(super) struct OwnerDocument {
        /// Its `_id`.
        pub key as "_id": String,
        /// Its metadata, if any was set.
        pub meta?: MetadataPairs,
        /// Its other fields, which decide whether it exists.
        #[serde(flatten)]
        pub others: Document,
    } in "";
}

/// A document with metadata.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    pub(super) kind: &'static MetadataOwner,
    /// Its `_id`.
    pub(super) key: String,
}

impl Owner {
    /// The document of a global id.
    ///
    /// # Errors
    /// `NotFound`: documents of this kind have no metadata, their room is switched off, or the text isn't a global id.
    pub(super) fn of(config: &Config, id: &ID) -> Result<Self, NotFound> {
        let named = |name: &str| metadata_owners(config).find(|kind| kind.kind.name() == name);
        let owner = node_id::decode(id)
            .and_then(|(name, key)| Some(Self { kind: named(&name)?, key }))
            .filter(|owner| !owner.key.is_empty());
        owner.ok_or_else(|| NotFound::given("object with metadata", id))
    }

    /// Its global id.
    pub(super) fn id(&self) -> ID {
        self.kind.kind.id(&self.key)
    }
}

impl OwnerDocument {
    /// Whether it exists for the editors of its room.
    pub(super) fn is_there(&self, owner: &Owner) -> bool {
        // No kind depends on the time.
        (owner.kind.exists)().holds(&self.others, DateTime::MIN)
    }
}
