//! The commands of this room that don't name the shard key, with the reason of each. A router sends such a command to
//! all shards.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "accounts" {
        find "owner" = "list: the accounts of their owner",
        find "holdsAt" = "sweep: holds whose checkout was cut",
    }
    "transfers" {
        find "accounts" = "list: the transfers of an account, which are of two accounts each",
        find "state" = "sweep: transfers that were cut; list: transfers in a state",
    }
}
