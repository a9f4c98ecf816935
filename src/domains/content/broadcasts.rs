//! The commands of the room that name no shard key.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "nodeRevisions" {
        find "_id" = "id: a former version by its `_id`, which is derived from content and number",
    }
}
