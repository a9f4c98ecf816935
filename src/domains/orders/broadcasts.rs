//! The commands of this room that don't name the shard key, with the reason of each. A router sends such a command to
//! all shards.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "orders" {
        find "owner" = "list: the orders of their owner",
        find "outbox.at" = "sweep: what is still to be given",
        find "raises.deadline" = "sweep: raises that were cut",
        find "stage" = "list: the orders of a stage",
        find "skus" = "list: the orders of a SKU",
        find "returnRequestedAt" = "list: the orders with a return to be decided on",
        find "meta.pairs" = "list: the orders with a pair of metadata",
        find "deleted" = "list: all orders",
        find "placedAt" = "list: new orders",
        find "recount.at" = "sweep: changes that the counts of what was bought together haven't followed",
        aggregate "skus" = "sweep: counts what was bought together with a product",
    }
    "boughtTogether" {
        find "dirtyAt" = "sweep: what was bought together and is to be counted",
    }
}
