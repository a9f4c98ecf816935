//! The commands that don't name the shard key of their collection. A router sends each of them to all shards, and merges
//! their replies. Each room lists its own ([`Room::broadcasts`](super::Room::broadcasts)). The tests fail on a command that
//! names no key and isn't listed; `docs/SHARDING.md` has all of them as a table.

use super::ROOMS;

/// A kind of commands that go to all shards.
#[derive(Debug, Clone, Copy)]
pub struct Broadcast {
    /// The collection as its room declares it, or `*` for any.
    pub collection: &'static str,
    /// MongoDB's name of the command, such as `find`.
    pub command: &'static str,
    /// The fields that its filter restricts, separated by spaces. It may restrict others too. A range of `_id` doesn't
    /// count. Of an aggregation that doesn't begin with a filter it is the first stage.
    pub fields: &'static str,
    /// Why it doesn't name the key.
    pub reason: &'static str,
}

/// Every kind of commands that go to all shards: those on any collection, and those of the rooms. None is an upsert or a
/// `findAndModify`: a router refuses those without a key. A single update or delete without the key names `_id`.
pub fn all() -> impl Iterator<Item = &'static Broadcast> {
    OWN.iter().chain(ROOMS.iter().flat_map(|room| room.broadcasts))
}

/// The listed kind of a command, if there is one. `fields` are those that its filter restricts.
pub fn listed(collection: &str, command: &str, fields: &[&str]) -> Option<&'static Broadcast> {
    let has_all = |all: &str| match all {
        "" => fields.is_empty(),
        all => all.split(' ').all(|field| fields.contains(&field)),
    };
    all().find(|one| {
        let is_of = one.collection == "*" || one.collection == collection;
        is_of && one.command == command && has_all(one.fields)
    })
}

/// A list: for each collection its commands, each with the fields and the reason.
macro_rules! broadcasts {
    ($( $collection:literal { $( $command:ident $fields:literal = $reason:literal, )+ } )+) => {
        &[$($(
            $crate::domains::broadcasts::Broadcast {
                collection: $collection,
                command: stringify!($command),
                fields: $fields,
                reason: $reason,
            },
        )+)+]
    };
}
pub(crate) use broadcasts;

/// The commands on any collection.
const OWN: &[Broadcast] = broadcasts! {
    "*" {
        aggregate "$changeStream" = "watch: one stream follows the changes of a collection",
        aggregate "$project" = "check: compares all documents, for `docgate check`",
        aggregate "$group" = "check: lists what documents refer to, for `docgate check`",
        find "" = "check: reads all documents in the order of `_id`, for `docgate check`, `docgate migrate` and `docgate person`",
    }
};
