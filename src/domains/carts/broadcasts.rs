//! The commands of this room that don't name the shard key, with the reason of each. A router sends such a command to
//! all shards.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "carts" {
        find "owner" = "list: the cart of its owner",
        find "state" = "sweep: idle carts, and flows that were cut",
        find "outbox.at" = "sweep: stock that is still to be returned",
    }
    "vouchers" {
        find "createdAt" = "list: all vouchers, newest first",
        find "marks.at" = "sweep: reservations whose checkout was cut, and marks that aren't needed any more",
    }
    "voucherCustomers" {
        find "marks.at" = "sweep: reservations whose checkout was cut, and marks that aren't needed any more",
    }
}
