//! The commands of the room that name no shard key.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "pageViews" {
        find "" = "list: the minutes of a page, a range of `_id`",
        aggregate "" = "list: the hours and days of a page, a range of `_id`",
    }
}
