//! The commands of this room that don't name the shard key, with the reason of each. A router sends such a command to
//! all shards.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "characters" {
        find "owner" = "list: the characters of their owner",
        find "markedAt" = "sweep: moves that were cut",
        update "place" = "copies: a place changed, which its characters show",
    }
    "places" {
        find "title" = "list: places by title",
        find "markedAt" = "sweep: moves that were cut",
        find "pendingAt" = "sweep: places whose copies are behind",
    }
    "items" {
        find "name" = "list: items by name",
    }
    "moves" {
        find "openAt" = "sweep: moves that aren't given",
    }
}
