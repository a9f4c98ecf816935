//! Comments and reviews: three ways to store them behind one API.
//!
//! - `comments`: one document per comment (`PER_DOCUMENT`)
//! - `commentPages`: up to 100 comments per document (`PAGED`)
//! - `discussion.entries` of the discussed document (`EMBEDDED`)
//! - `authoredComments`: copies of paged and embedded comments, for the list of their author's
//!
//! What is discussed is a document of another room: a product, content, an asset. This room writes
//! the field `discussion` of it and nothing else; the others embed [`DiscussionSummary`] and show it.
//! It knows of each kind how its visibility is read (`documents/parent.rs`), and no room imports less
//! for it: `discussion` is found by collection and `_id`.
//!
//! # Posting, editing, removing
//!
//! The discussed document decides whether a comment is posted; a comment decides its own edits and
//! removal. What the other side has to be told is the comment's outbox, `due`, with one entry at a time:
//!
//! ```text
//!   postComment    insert with due POST ──take──▶ count, newest ten, rating; taken: id ──▶ due goes
//!   editComment    nonce, window: text, due EDIT ──give──▶ newest ten, rating; taken: id:version ──▶ due goes
//!   removeComment  text goes, due REMOVE ──give──▶ count, newest ten (refilled), rating; taken ──▶ due goes
//! ```
//!
//! A comment that is due to be posted is seen by nobody. `taken` keeps what was told from being told
//! twice; the sweep forgets it when the comment's `settledAt` is two bounds old. `touchedAt` is when the
//! oldest of what is left to be done was begun. A post that can't be taken (its caller may see the
//! document no more) is made void there before it is withdrawn. What makes room among the newest is
//! refilled from what was read and taken, guarded by `discussion.version`, which edits and removals
//! raise, and by `discussion.total`, which posts do.
//!
//! A comment's id is made from its op id, a review's from its author, so each is unique in every
//! layout: by `_id`, by a unique index over pages, by the guard of the discussed document's update.
//!
//! # Who sees a comment
//!
//! Whoever may see what it is on, and nobody else. `comment`, `commentsBy` and the lists of a discussion show
//! no more to its author or to a moderator. Who doesn't see a comment can't reply to it, edit it or remove it.
//!
//! # Opening
//!
//! Who may write something opens its discussion. A product's first review opens the product's, in the
//! configuration's layout; where two come at once, the second finds it open.
//!
//! # Repairing
//!
//! `count`, `total`, `latest` and `rating` follow from the comments; see [`repair`].
//!
//! # Importing
//!
//! `docgate import discussions` posts many comments on products at once (`operations/bulk.rs`), into discussions
//! of one document per comment.
//!
//! # Moving to another layout
//!
//! ```text
//!   migrateDiscussion ──▶ epoch + 1, layout, migration {from, taken} ──seal, copy──▶ copiedAt
//!                                     ──two bounds, nothing unposted──▶ old store goes ──▶ migration goes
//! ```
//!
//! A store belongs to one epoch: `on` is the discussion's id and the epoch. Takes are guarded by the epoch, so
//! that whoever inserted into the old store too late finds out and posts to the new one. The documents
//! of the old store are sealed, then copied by anyone and any number of times with the same outcome:
//! what had been taken when the epoch rose. Edits go to the new store and wait until all is copied.
//! Copies are inserted without a server deadline; a copier that slept for more than two bounds between
//! two commands looks again whether the discussion still moves before it goes on.
//!
//! A discussed document that is deleted takes its comments along: its room calls
//! [`operations::forget`] before it removes the document.
//!
//! Invariants: a discussion counts its comments, carries the newest ten, and its rating counts each
//! author once; no page has more than 100; no comment or slug is there twice; nothing is due; every store
//! is one of a discussion; copies equal the comments.

mod derived;
mod documents;
pub mod import;
pub mod invariants;
pub mod operations;
pub mod repair;
pub mod resolvers;
mod store;
pub mod sweep;
pub mod types;

pub use documents::{
    AuthoredComment, CommentDocument, CommentExcerpt, DiscussionSummary, Layout, PageDocument,
    Rating, TOUCHED,
};
pub use types::Discussion;
