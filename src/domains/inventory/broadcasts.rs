//! The commands of the room that name no shard key.

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
