//! Stored documents of topics.

use crate::mongo::prelude::*;

/// `_id` of the one document of the collection.
pub(super) const ALL: &str = "topics";
/// The names of rings begin with this.
pub(super) const PREFIX: &str = "topic_";

document! {
    /// The list of all topics. It is one document, so that one guarded update decides about their number and their size.
    pub struct TopicsDocument {
        /// Always [`ALL`].
        pub id as "_id": String,
        /// The topics in the order of their creation.
        pub topics: Vec<TopicEntry>,
        /// Version of the document's shape.
        pub v: Version<1>,
    } in "topics" by unsharded("it is one document") {}

    /// One topic.
    #[derive(PartialEq, Eq)]
    pub struct TopicEntry {
        /// Name of the topic.
        pub name: String,
        /// Name of the capped collection, which no other topic ever has.
        pub ring: String,
        /// Maximum size of the stored messages in bytes.
        pub bytes: i64,
        /// Maximum number of stored messages.
        pub max_messages?: i64,
        /// Whether callers without a token may follow it.
        pub is_public: bool,
        /// Whether its ring exists.
        pub is_ready: bool,
        /// The op that created it.
        pub op: String,
        /// Digest of that op's input.
        pub input: String,
        /// Time at which it was created.
        pub at: DateTime,
    }

    /// A message in a ring. The first document of a ring is a mark with the ring's name as `_id`, so that a topic without
    /// messages has a position too.
    pub(super) struct MessageDocument {
        /// The op that published it, and its number in the call.
        pub id as "_id": String,
        /// Its text; none in a mark.
        pub payload?: String,
        /// Time at which it was published.
        pub at: DateTime,
        /// Digest of the op's input.
        pub input: String,
        /// Version of the document's shape. Documents of earlier releases don't have it.
        #[serde(default)]
        pub v: Version<1>,
    }
}

impl MessageDocument {
    /// The mark at the start of a ring.
    pub(super) fn mark(topic: &TopicEntry) -> Self {
        Self {
            id: topic.ring.clone(),
            payload: None,
            at: topic.at,
            input: String::new(),
            v: Version,
        }
    }

    /// Memory that the message takes up in a gateway, in bytes.
    pub(super) fn size(&self) -> usize {
        size_of::<Self>()
            + self.id.len()
            + self.payload.as_ref().map_or(0, String::len)
            + self.input.len()
    }
}
