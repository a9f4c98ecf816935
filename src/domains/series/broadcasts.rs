//! The commands of this room that don't name the shard key, with the reason of each. A router sends such a command to
//! all shards.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "pageViews" {
        find "" = "list: the minutes of a page, a range of `_id`",
        aggregate "" = "list: the hours and days of a page, a range of `_id`",
    }
}
