//! The commands of this room that don't name the shard key, with the reason of each. A router sends such a command to
//! all shards.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "sessions" {
        find "arrivedAt" = "roll-up: sessions in the order of their arrival",
        aggregate "slot" = "roll-up: the sessions of users and hours",
        delete "slot" = "sweep: sessions that are too old",
    }
    "sessionStatsHourly" {
        find "" = "list: the hours of a user, a range of `_id`",
    }
    "sessionStatsDaily" {
        find "" = "list: the days of a user, a range of `_id`",
    }
    "sessionStatsWeekly" {
        find "" = "list: the weeks of a user, a range of `_id`",
    }
    "sessionStatsMonthly" {
        find "" = "list: the months of a user, a range of `_id`",
    }
    "sessionStatsYearly" {
        find "" = "list: the years of a user, a range of `_id`",
    }
}
