//! The commands of this room that don't name the shard key, with the reason of each. A router sends such a command to
//! all shards.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "people" {
        find "nameKey" = "list: people by the beginning of their name",
        find "search.words" = "list: suggestions for words",
        find "search.typos" = "list: suggestions for words with a typing error",
        find "outbox.at" = "sweep: names that are still to be spread",
        update "works.stoneAt" = "sweep: tombstones of works",
    }
}
