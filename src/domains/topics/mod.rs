//! Topics: services publish messages, and every subscriber gets every message in order.
//!
//! # States
//!
//! ```text
//!   createTopic ──▶ listed ──ring created──▶ ready ──deleteTopic──▶ (not listed) ──ring dropped──▶ (gone)
//! ```
//!
//! - The list of all topics is one document, the decider. One guarded update of it adds a topic, or removes it. So the
//!   bounds on their number and size hold whoever creates topics at the same time.
//! - The messages of a topic are in a capped collection of its own, its *ring*, with a random name. A listed topic gets
//!   its ring by its creator, by the next call that uses the topic, or by the sweep. A ring whose topic isn't listed is
//!   dropped by the sweep. An insert that arrives after its ring was dropped creates such a collection. The name of a ring
//!   is never used again, so this affects no other topic.
//! - Messages of one call have ids that follow from its idempotency key, and are inserted in order. A repeat finds them as
//!   long as they are in the ring, and inserts the rest.
//! - A gateway follows a ring by one tailable cursor, as long as the topic has subscribers (`operations::channel`). The
//!   last messages are in a window in memory that all subscribers share (`operations::window`), and so are the last
//!   responses. Each subscriber has a position. A subscriber that comes back with a position before the window first reads
//!   the ring itself (`operations::behind`).
//!
//! # Invariants
//!
//! Each ready topic has its capped collection, each such collection has its topic, and no two topics have the same name.

mod documents;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
mod sweep;
pub mod types;

use super::{
    Room,
    room::{Later, Made, documented, unmet},
};
use crate::mongo::{Group, indexes::Declared, personal::Personal, shards::ShardKey};
pub use documents::TopicsDocument;

/// The room.
pub const ROOM: Room = Room {
    faults: Some(|config| {
        unmet([
            (config.topics_most >= 1, "topics_most must be at least 1"),
            (config.topics_bytes >= 4_096, "topics_bytes must be at least 4096"),
            (config.topic_window_bytes >= 1 << 16, "topic_window_bytes must be at least 65536"),
        ])
    }),
    documents: &[documented::<TopicsDocument>()],
    later: &[Later {
        declared: Declared {
            name: "topic_*",
            indexes: &[],
            group: Group::Core,
            shard_key: ShardKey::unsharded("MongoDB can't shard capped collections"),
        },
        made: Made::Random,
    }],
    personal: &[
        Personal::nothing("topics", "names of topics"),
        Personal::nothing("topic_*", "what services publish; no user is named"),
    ],
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    ..Room::new("topics")
};
