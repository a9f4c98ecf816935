//! The commands of this room that don't name the shard key, with the reason of each. A router sends such a command to
//! all shards.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "events_*" {
        find "at" = "list: the events of a path, a host or a day, by time",
        aggregate "at" = "list: the number of events by day and page",
    }
    "eventCalls" {
        delete "at" = "sweep: calls that needn't be remembered",
    }
}
