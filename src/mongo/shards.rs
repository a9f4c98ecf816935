//! Shard keys: how a cluster divides the documents of a collection among its shards. A router (`mongos`) sends a command
//! that names the key to the shards that it concerns, and every other command to all shards.
//! <https://www.mongodb.com/docs/manual/core/sharding-shard-key/>

use super::indexes::Index;

/// How a cluster divides a collection. A document's key never changes: MongoDB changes it only in transactions and in
/// retryable writes, and docgate sends most of its guarded writes without either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardKey {
    /// By the hash of a field. The documents with one value are on one shard.
    Hash {
        /// The field. Every document has it.
        field: &'static str,
        /// Why it is this field.
        why: &'static str,
    },
    /// Not at all: the collection stays on one shard.
    Unsharded {
        /// Why.
        why: &'static str,
    },
}

impl ShardKey {
    /// By the hash of `_id`. Most reads and all flows name a document by its `_id`, and ids are random or derived, so the
    /// documents are spread evenly.
    pub const ID: Self = Self::hash_of("_id", "reads and flows name documents by `_id`");

    /// By the hash of a field, with the reason.
    pub const fn hash_of(field: &'static str, why: &'static str) -> Self {
        Self::Hash { field, why }
    }

    /// A collection that stays on one shard, with the reason.
    pub const fn unsharded(why: &'static str) -> Self {
        Self::Unsharded { why }
    }

    /// The field whose value decides about the shard, if the collection is sharded.
    pub const fn field(self) -> Option<&'static str> {
        match self {
            Self::Hash { field, .. } => Some(field),
            Self::Unsharded { .. } => None,
        }
    }

    /// The reason of the choice.
    pub const fn why(self) -> &'static str {
        match self {
            Self::Hash { why, .. } | Self::Unsharded { why } => why,
        }
    }

    /// The key as MongoDB's commands have it, such as `{ "_id": "hashed" }`.
    pub fn pattern(self) -> Option<String> {
        self.field().map(|field| format!("{{ {field:?}: \"hashed\" }}"))
    }

    /// Whether MongoDB can enforce the index in a cluster. Each shard checks the uniqueness of its own documents only, so a
    /// unique index has to begin with the field of the key: documents with equal keys of the index are then on one
    /// shard. MongoDB compares the names of the fields, so it doesn't matter that the key is a hash and the index isn't.
    pub fn fits(self, index: &Index) -> bool {
        let begins = |field| index.fields().next() == Some(field);
        !index.is_unique() || self.field().is_none_or(begins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unique_index_begins_with_the_shard_key() {
        let key = ShardKey::hash_of("on", "");
        assert!(key.fits(&Index::unique("a", "on slug", "")));
        assert!(key.fits(&Index::unique("a", "-on", "")));
        assert!(!key.fits(&Index::unique("a", "slug on", "")));
        assert!(!key.fits(&Index::unique_of("a", "slug", "")));
        assert!(key.fits(&Index::plain("a", "slug on", "")));
        assert!(!ShardKey::ID.fits(&Index::unique("a", "on slug", "")));
        assert!(ShardKey::unsharded("").fits(&Index::unique("a", "slug on", "")));
    }

    #[test]
    fn a_pattern_is_json() {
        assert_eq!(ShardKey::ID.pattern().as_deref(), Some(r#"{ "_id": "hashed" }"#));
        assert_eq!(ShardKey::unsharded("").pattern(), None);
    }
}
