//! The commands of this room that don't name the shard key, with the reason of each. A router sends such a command to
//! all shards.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "adZones" {
        find "publisher" = "list: the zones of a publisher",
    }
    "campaigns" {
        find "advertiser" = "list: the campaigns of an advertiser",
        find "due" = "sweep: campaigns whose zones are behind",
        find "liveUntil" = "sweep: campaigns that end",
        find "ratedAt" = "sweep: expected incomes",
        find "marksAt" = "sweep: marks of clicks",
    }
    "adClicks" {
        find "due" = "sweep: clicks that aren't counted",
        delete "expiresAt" = "sweep: clicks whose tokens have expired",
    }
    "adProfiles" {
        delete "keptUntil" = "sweep: profiles that no cap needs",
    }
}
