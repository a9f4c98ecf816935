//! The commands of this room that don't name the shard key, with the reason of each. A router sends such a command to
//! all shards.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "assets.files" {
        find "metadata.removeAfter" = "sweep: files that were let go",
    }
    "assets.chunks" {
        aggregate "files_id" = "sweep: chunks of files that no asset names, by a range of ids",
    }
}
