//! Comments and reviews: three storage layouts behind one API.
//!
//! - `comments`: one document per comment (`PER_DOCUMENT`)
//! - `commentPages`: up to 100 comments per document (`PAGED`)
//! - `discussion.entries` of the discussed document (`EMBEDDED`)
//! - `authoredComments`: copies of paged and embedded comments, for the lists by author
//!
//! The discussed document belongs to another room: it is a product, content or an asset. This room writes
//! only its field `discussion`; the other rooms embed [`DiscussionSummary`] and show it. Each room declares the kinds
//! that can be discussed, with their collections and the condition of visibility, as [`Discussable`] in its `ROOM`.
//! This room finds `discussion` by collection and `_id`, so it imports no other room.
//!
//! # Posting, editing, removing
//!
//! The discussed document is the decider of a post: its update counts the comment. A comment is the decider of its own
//! edits and removal. Each comment has at most one outbox entry, `due`. It is applied to the discussed document. So,
//! unlike in other flows, the outbox of a post isn't on its decider, and its entry is written before the commit:
//! inserting the comment is the reserve. While POST is due, the comment isn't in lists and can't be looked up; from the
//! commit on it is counted and among the newest ten.
//!
//! | operation | first write, on the comment | guard |
//! |---|---|---|
//! | `postComment` | insert with `due: POST` | no comment has its id or slug |
//! | `editComment` | the text, with `due: EDIT` | version as read; no `due`; the time for edits |
//! | `removeComment` | no text, with `due: REMOVE` | version as read; no `due` |
//!
//! | entry | then, on the discussed document | guard, beside the tag not being marked | mark |
//! |---|---|---|---|
//! | POST | count, newest ten, rating (commit) | epoch; the author can see the document | id |
//! | EDIT | newest ten, rating (apply) | version of the discussion | id and version |
//! | REMOVE | count, newest ten, rating (apply) | version and total of the discussion | id and version |
//!
//! At the end the entry is removed from the comment. In the layout EMBEDDED the comments are part of the discussed
//! document, and one update inserts and commits a post. Paged and embedded comments are also copied to
//! `authoredComments`, before the entry is removed. A mark keeps an entry from being applied twice; the sweep removes
//! it when the comment's `settledAt` is two grace periods old.
//!
//! The insert of a comment has no deadline, because an insert can't have one. A comment that is inserted late
//! stays uncommitted until the sweep finds it. The writes that settle an entry or void a tag have a deadline,
//! though they don't need one.
//!
//! The sweep finds comments by `due.at`, and discussions with embedded comments, marks or a move by `touchedAt`.
//! It commits a post that wasn't committed, because its author requested it. In the author's own call, a post
//! isn't committed if the author can't see the document any more: its tag is marked void in the discussed
//! document, and the comment is removed.
//!
//! A removal replaces the removed comment in the newest ten by one that it read before. If a post,
//! edit or removal comes between that read and the update, the update is refused and the comments are read again: posts
//! raise `discussion.total`, edits and removals raise `discussion.version`, and the update is guarded by both.
//!
//! A comment's id is derived from its idempotency key, a review's from its author. So a second review by an author
//! returns the first one if it says the same, and is refused otherwise. The id is unique by `_id` (one document
//! per comment), by a unique index (pages), or by the guard of the discussed document's update (embedded).
//!
//! # Visibility
//!
//! A comment is visible to exactly the callers who can see the discussed document. `comment`, `commentsBy`
//! and the lists of a discussion show no more to its author or to a moderator. Callers who can't see a
//! comment can't reply to it, edit it or remove it.
//!
//! # Opening
//!
//! Callers who may write the discussed document may open its discussion. The first review of a product opens
//! the product's discussion in the configured layout; if two arrive at once, the second finds it open.
//!
//! # Repairing
//!
//! `count`, `total`, `latest` and `rating` are derived from the comments; see `derived.rs`.
//!
//! # Importing
//!
//! `docgate import discussions` posts many comments on products at once (`import.rs`), into
//! discussions of one document per comment.
//!
//! # Moving to another layout
//!
//! ```text
//!   migrateDiscussion ──▶ epoch + 1, layout, migration {from, taken} ──seal, copy──▶ copiedAt
//!         ──two grace periods──▶ uncommitted posts are posted anew ──▶ old store goes ──▶ migration goes
//! ```
//!
//! A store is the comments of one discussion in one layout. It belongs to one epoch: its documents have the id of the
//! discussion and the epoch in the field `on`. A move raises the epoch, and notes in `migration` the layout that it
//! comes from and the tags that were committed by then (`taken`). The commit of a post is guarded by the epoch. So a
//! comment that was inserted into the old store too late is refused, posted to the new one, and withdrawn from the old.
//!
//! The documents of the old store are sealed, and then copied; an embedded store is sealed by the epoch itself.
//! From then on no committed comment in them changes; uncommitted ones may still be inserted and withdrawn. Any
//! gateway may copy, any number of times, with the same outcome: the comments that were committed when the epoch
//! rose. Until everything is copied, lists join both stores, and a call that edits or removes a comment does the
//! copying first. Two grace periods after `copiedAt`, the sweep posts the remaining uncommitted comments to the
//! new store. Then it removes the old store, and at last `migration`.
//!
//! Copies of documents are inserted without a deadline. A copier whose attempt has ended reads the discussion again
//! before it writes the next batch, and stops if the epoch has changed.
//!
//! The comments of a discussed document are deleted with it: its room calls [`operations::forget`] before it
//! removes the document.
//!
//! Invariants: a discussion counts its comments, carries the newest ten, and its rating counts each author
//! once; no page has more than 100; no comment or slug exists twice; no outbox entry is left; every store
//! belongs to a discussion; copies equal the comments.

mod derived;
mod documents;
pub mod import;
pub mod invariants;
pub mod operations;
mod person;
pub mod resolvers;
mod store;
mod sweep;
pub mod types;

use super::{Room, broadcasts::broadcasts, nodes::node_type, room::documented};
use crate::graphql::node_id::NodeKind;
pub use documents::{
    AuthoredComment, CommentDocument, CommentExcerpt, Discussable, DiscussionSummary, Layout,
    PageDocument, Rating, TOUCHED,
};
pub use person::EMBEDDED;
pub use types::{AverageRating, Discussion};
use types::{Comment, CommentBy};

impl NodeKind {
    /// A comment or a review. Its key also names what is discussed.
    pub const COMMENT: Self = Self::new("comment");
}

pub const ROOM: Room = Room {
    nodes: &[node_type!(
        COMMENT: Comment,
        |cx, id| operations::comment(cx, &CommentBy::Id(id.clone()))
    )],
    documents: &[
        documented::<CommentDocument>(),
        documented::<PageDocument>(),
        documented::<AuthoredComment>(),
    ],
    broadcasts: broadcasts! {
        "comments" {
            find "_id" = "id: a comment by its `_id`, which is unique in all discussions",
            update "_id" = "id: a change of a comment, or of several that are posted at once, by `_id`",
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
    },
    personal: person::PERSONAL,
    erase: Some(|app, erasing| Box::pin(person::erase(app, erasing))),
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    repair: Some(|app, _| Box::pin(derived::repair(app))),
    ..Room::new("comments")
};
