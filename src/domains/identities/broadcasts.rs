//! The commands of the room that name no shard key.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "identities" {
        find "userId" = "list: the names of a user",
        find "pending.at" = "sweep: changes that were cut",
        find "releasedAt" = "sweep: names that were let go",
        delete "releasedAt" = "sweep: names that were let go",
    }
}
