//! The commands of the room that name no shard key.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "messages" {
        find "delivering" = "sweep: deliveries that were cut",
    }
    "conversationEntries" {
        find "views" = "list: the messages of a conversation",
    }
}
