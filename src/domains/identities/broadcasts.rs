//! The commands of this room that don't name the shard key, with the reason of each. A router sends such a command to
//! all shards.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "identities" {
        find "userId" = "list: the names of a user",
        find "pending.at" = "sweep: changes that were cut",
        find "releasedAt" = "sweep: names that were let go",
        delete "releasedAt" = "sweep: names that were let go",
    }
}
