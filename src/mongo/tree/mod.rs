//! Trees whose documents carry copies of what stands above them, such as their path.
//!
//! Slug and parent are a branch's own; its document decides about them. Everything else is a copy, and
//! every copy goes over one edge:
//!
//! ```text
//!   parent ── path and what else it shows ──▶ child ── the same ──▶ its children …
//!     cv                            parentCv    cv
//! ```
//!
//! `cv` is the branch's version; each write that changes anything that copies show raises it, also the
//! write of a copy that came down from the parent. A child takes over what its parent shows only where
//! `parentCv` is lower than the version it was read at, so a write that is late, repeated or overtaken
//! changes nothing. Where a child stands, and at which version of its parent, is written in one update;
//! its path ends in its own slug because the update itself appends it.
//!
//! # Fan-outs
//!
//! A write of slug, place or anything else that copies show also puts an entry into the branch's
//! `outbox`. The [`Pass`] for it goes down the tree, parents before children: it lets the branch itself
//! follow its parent (who moved it could have missed a change of the new parent), hands it on to copies
//! elsewhere, lets its children follow, and so on. Then the entries that it found at its beginning go. A
//! cut pass is begun again by the sweep and passes quickly over what is done. Why that is enough, for
//! one edge: after each change of the parent some pass visits its children; that pass either finds a
//! child, or the child came under this parent later, and who brought it there (a move, a creation) reads
//! the parent again afterwards. A subtree that leaves while a pass is under way takes an entry of its own
//! with it. So nothing of this hangs on a deadline, a lock, or on two passes not meeting.
//!
//! # Creation and deletion
//!
//! ```text
//!   (insert) ─▶ copying ── parent still there ─▶ settled ─▶ deleting ─▶ (removed)
//!                  └────── parent gone ─▶ (removed)   ▲          │ in use, or cut
//!                                                     └──────────┘
//! ```
//!
//! A branch that is still `copying` counts as a child when its parent is to be deleted, and for everyone
//! else doesn't exist as something to build upon, so that its creator can take it back ([`settle`]). One
//! that is `deleting` takes no changes; readers still see it, because most deletions that are marked are
//! refused.
//!
//! Moves, changes of slug and deletions hold a lease ([`Lease::wait_for`](super::lease::Lease::wait_for)),
//! and their writes the deadline of its run: two moves that together make a circle can't be seen by a
//! guard on either child, nor a move below what is being deleted.

mod commands;
mod pass;
mod settle;

use mongodb::bson::{DateTime, Document};
use serde::{Deserialize, Serialize};

use super::Stored;
use crate::error::Error;

pub use commands::{Tree, changed};
pub use pass::Pass;
pub use settle::{settle, sweep_creations, sweep_deletions, sweep_fan_outs, taken_up};

/// What is needed to know of a child.
pub trait Child: Stored {
    /// Its `_id`.
    fn id(&self) -> &str;
    /// What it lies below; none for a root.
    fn parent_id(&self) -> Option<&str>;
    /// Version of the parent that it shows; 0 for a root.
    fn parent_cv(&self) -> i64;
}

/// One document of a tree. Its version is the field `cv`, the one of its parent that it shows `parentCv`,
/// and its changes that are under way stand in `outbox`, `copying` and `deleting`. The collection has an
/// index `parent` of [`Self::PARENT`], `_id` and `parentCv`.
pub trait Branch: Child + Clone {
    /// What is read of it as a child: `_id`, [`Self::PARENT`] and `parentCv`.
    type Child: Child;

    /// Field that holds the `_id` of what it lies below.
    const PARENT: &'static str;

    /// Its version.
    fn cv(&self) -> i64;
    /// Changes that haven't reached all copies.
    fn outbox(&self) -> &[FanOut];
    /// Whether it isn't sure yet that its parent stays.
    fn is_copying(&self) -> bool;
    /// The mark of its deletion.
    fn deleting(&self) -> Option<&Deletion>;
    /// Whether it is about to go, or nothing but its stone is left.
    fn is_going(&self) -> bool {
        self.deleting().is_some()
    }

    /// What is taken over from `parent` as it was read, or from above the roots: stages of a pipeline
    /// update, without `cv` and `parentCv`.
    fn taken_over(parent: Option<&Self>) -> Vec<Document>;
}

/// A room's tree.
pub trait Grown: Send + Sync + 'static {
    /// Its documents.
    type Branch: Branch;

    /// Name of the lease under which its shape is changed.
    const LOCK: &'static str;
    /// What its fan-outs are called in logs.
    const FAN_OUT: &'static str;

    /// Its commands.
    fn tree(&self) -> Tree<Self::Branch>;

    /// Told of branches that show what is above them, before they are handed on. It may be repeated.
    fn arrived(
        &self,
        _branches: &[Self::Branch],
    ) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }

    /// Hands a branch on to its copies in other collections.
    fn hand_on(&self, branch: &Self::Branch) -> impl Future<Output = Result<(), Error>> + Send;
}

/// Outbox entry: a change that is to reach everything below, and copies elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FanOut {
    /// Tells it from others.
    pub id: String,
    /// Server time of the change.
    pub at: DateTime,
}

/// The mark of one deletion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deletion {
    /// Tells it from others.
    pub by: String,
    /// Server time of the mark.
    pub at: DateTime,
}
