//! The commands of this room that don't name the shard key, with the reason of each. A router sends such a command to
//! all shards.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "messages" {
        find "delivering" = "sweep: deliveries that were cut",
    }
    "conversationEntries" {
        find "views" = "list: the messages of a conversation",
    }
}
