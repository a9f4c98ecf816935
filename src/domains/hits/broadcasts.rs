//! The commands of the room that name no shard key.

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
