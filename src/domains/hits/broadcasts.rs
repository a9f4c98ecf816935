//! The commands of this room that don't name the shard key, with the reason of each. A router sends such a command to
//! all shards.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "statsDaily" {
        find "" = "list: the days of a page, a range of `_id`",
        find "_id.site _id.date" = "list: the pages with the most hits",
    }
    "statsMonthly" {
        find "" = "list: the months of a page, a range of `_id`",
        find "_id.site _id.date" = "list: the pages with the most hits",
    }
}
