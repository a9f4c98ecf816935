//! Comments and reviews: three storage layouts behind one API.
//!
//! - `comments`: one document per comment (`PER_DOCUMENT`)
//! - `commentPages`: up to 100 comments per document (`PAGED`)
//! - `discussion.entries` of the discussed document (`EMBEDDED`)
//! - `authoredComments`: copies of paged and embedded comments, for the lists by author
//!
//! The discussed document belongs to another room: it is a product, content or an asset. This room writes
//! only its field `discussion`; the other rooms embed [`DiscussionSummary`] and show it. This room knows for
//! each kind how visibility is stored (`documents/parent.rs`). It finds `discussion` by collection and `_id`,
//! so it imports no other room.
//!
//! # Posting, editing, removing
//!
//! The discussed document is the decider of a post; a comment is the decider of its own edits and removal.
//! The comment's outbox, `due`, holds at most one entry for the discussed document:
//!
//! ```text
//!  postComment    insert with due POST ──take──▶ count, newest ten, rating; taken: id ──▶ due goes
//!  editComment    nonce, window: text, due EDIT ──give──▶ newest ten, rating; taken: id:version ──▶ due goes
//!  removeComment  text goes, due REMOVE ──give──▶ count, newest ten (refilled), rating; taken ──▶ due goes
//! ```
//!
//! `take` commits a post, `give` applies an edit or a removal. A comment with a pending POST is invisible.
//! `taken` holds the marks that keep an entry from being applied twice; the sweep removes a mark when the
//! comment's `settledAt` is two grace periods old. `touchedAt` is the time at which the oldest unfinished
//! work began. A post that can't be committed (its caller can't see the document any more) is marked void in
//! the discussed document before the comment is withdrawn. After a removal the newest ten are refilled with
//! comments that were read before. That update is guarded by `discussion.version`, which edits and removals
//! raise, and by `discussion.total`, which posts raise.
//!
//! A comment's id is derived from its idempotency key, a review's from its author. So each is unique in every layout:
//! by `_id`, by a unique index over pages, or by the guard of the discussed document's update.
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
//! `count`, `total`, `latest` and `rating` are derived from the comments; see [`repair`].
//!
//! # Importing
//!
//! `docgate import discussions` posts many comments on products at once (`operations/bulk.rs`), into
//! discussions of one document per comment.
//!
//! # Moving to another layout
//!
//! ```text
//!   migrateDiscussion ──▶ epoch + 1, layout, migration {from, taken} ──seal, copy──▶ copiedAt
//!                              ──two grace periods, nothing unposted──▶ old store goes ──▶ migration goes
//! ```
//!
//! A store belongs to one epoch: `on` is the discussion's id and the epoch. `take` is guarded by the epoch:
//! an attempt that inserted into the old store too late is refused and posts to the new one. The documents of
//! the old store are sealed, then copied. Any gateway may copy, any number of times, with the same outcome:
//! the comments that were committed when the epoch rose. Edits go to the new store and wait until everything
//! is copied. Copies are inserted without a deadline on the server; a copier that paused for more than two
//! grace periods between two commands checks that the migration is still the same before it continues.
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
pub mod repair;
pub mod resolvers;
mod store;
mod sweep;
pub mod types;

use super::{Room, room::declared};
use crate::graphql::node_id::NodeKind;
pub use documents::{
    AuthoredComment, CommentDocument, CommentExcerpt, DiscussionSummary, Layout, PageDocument,
    ParentKind, Rating, TOUCHED,
};
pub use types::Discussion;

/// The room.
pub const ROOM: Room = Room {
    nodes: &[NodeKind::Comment],
    collections: &[
        declared::<CommentDocument>(),
        declared::<PageDocument>(),
        declared::<AuthoredComment>(),
    ],
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    repair: Some(|app| Box::pin(repair::repair(app))),
    ..Room::new("comments")
};
