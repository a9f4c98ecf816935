//! The commands of this room that don't name the shard key, with the reason of each. A router sends such a command to
//! all shards.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "users" {
        find "celebrityAt" = "list: the users whose posts news merge in; sweep: those without marks",
        find "meta.pairs" = "list: the users with a pair of metadata",
        find "marking" = "sweep: markings that were cut",
    }
    "circles" {
        find "of" = "list: the followers of a user",
        aggregate "of" = "search: the number of followers of a user",
        find "by" = "list: the users whom a user follows; whether a circle has any",
        find "merged" = "list: the followed users whose posts news merge in",
        find "due" = "sweep: edges whose mark isn't decided",
    }
    "posts" {
        find "merged" = "list: posts that news merge in",
        aggregate "merged" = "list: up to which post news look for those to merge in",
        find "due" = "sweep: copies that are behind",
        find "delivering" = "sweep: deliveries that were cut",
        find "deletedAt" = "sweep: deleted posts",
    }
    "votes" {
        aggregate "post" = "search: the number of votes for a choice",
        delete "post" = "removal: the votes of a deleted post",
        find "due" = "sweep: votes that aren't counted",
    }
}
