//! The commands of this room that don't name the shard key, with the reason of each. A router sends such a command to
//! all shards.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "inventory" {
        find "available" = "list: low stock",
        find "sweepAt" = "sweep: reservations and their marks",
        find "deletionDue" = "sweep: deletions that the catalog hasn't followed",
        update "" = "walk: corrects the times of sweeps by ranges of `_id`",
    }
    "stockReceipts" {
        delete "at" = "sweep: receipts that may be forgotten",
    }
}
