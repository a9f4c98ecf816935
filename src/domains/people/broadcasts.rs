//! The commands of the room that name no shard key.

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
