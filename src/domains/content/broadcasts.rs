//! The commands of this room that don't name the shard key, with the reason of each. A router sends such a command to
//! all shards.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "nodeRevisions" {
        find "_id" = "id: a former version by its `_id`, which is derived from content and number",
    }
}
