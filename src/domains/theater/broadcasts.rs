//! The commands of this room that don't name the shard key, with the reason of each. A router sends such a command to
//! all shards.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "theaters" {
        aggregate "$geoNear" = "list: theaters near a place",
        find "place" = "list: theaters within a polygon",
    }
    "screenings" {
        find "theaterId" = "list: screenings of a theater",
        find "sweepAt" = "sweep: holds of seats, and marks of refunds",
        find "cancellingAt" = "sweep: cancelled screenings of which somebody has seats",
    }
    "bookings" {
        find "owner" = "list: the booking of its owner",
        find "state" = "sweep: idle bookings, and flows that were cut",
        find "outbox.at" = "sweep: seats that are still to be released",
    }
    "receipts" {
        find "owner" = "list: the receipts of their owner",
        find "lines.screeningId" = "list: the receipts of a screening",
        find "cancellingAt" = "sweep: refunds that are still to be made",
    }
}
