//! The commands of this room that don't name the shard key, with the reason of each. A router sends such a command to
//! all shards.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "comments" {
        find "_id" = "id: a comment by its `_id`, which is unique in all discussions",
        update "_id" = "id: a change of a comment, which is named by its `_id`",
        delete "_id" = "id: the removal of a comment, which is named by its `_id`",
        find "author" = "list: the comments of an author",
        find "due.at" = "sweep: comments that the discussed document hasn't applied",
        delete "on" = "removal: all stores of a deleted discussion, a range of `on`",
    }
    "commentPages" {
        find "entries.due.at" = "sweep: comments that the discussed document hasn't applied",
        delete "on" = "removal: all stores of a deleted discussion, a range of `on`",
    }
    "authoredComments" {
        find "author" = "list: the comments of an author",
        delete "discussion" = "removal: the copies of a discussion that goes",
    }
}
