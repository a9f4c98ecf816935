//! The commands of the room that name no shard key.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "assets.files" {
        find "metadata.removeAfter" = "sweep: files that were let go",
    }
    "assets.chunks" {
        aggregate "files_id" = "sweep: chunks of files that no asset names, by a range of ids",
    }
}
