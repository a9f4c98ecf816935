//! Trees whose documents carry copies of their ancestors' values, such as the path.
//!
//! The document of a branch owns its slug and its parent. Everything else is a copy, and every copy is made
//! along one edge:
//!
//! ```text
//!   parent ── path and other values it shows ──▶ child ── the same ──▶ its children …
//!     cv                               parentCv    cv
//! ```
//!
//! `cv` is the branch's version. Each write that changes a copied value raises it, including a write that
//! copies values from the parent. A child is updated from its parent only if its `parentCv` is lower than the
//! version at which the parent was read. A late, repeated or overtaken write therefore changes nothing. One
//! update writes the parent of a child and the version of the parent that the child shows. The same update
//! appends the child's own slug to the path.
//!
//! # Fan-outs
//!
//! A write of the slug, the parent or another copied value also adds an entry to the branch's `outbox`. The
//! [`Pass`] for the entry goes down the tree, parents before children. First it updates the branch itself
//! from its parent, because a move may have missed a change of the new parent. Then it updates the children
//! and the copies in other collections, and continues with the children. At its end, it removes the entries
//! that it found at its beginning. The sweep repeats an interrupted pass. A repeated pass only reads where the
//! copies are up to date.
//!
//! This is sufficient for one edge for the following reason. After each change of the parent, some pass visits
//! its children. Either that pass finds the child, or the child came under this parent later. In the second
//! case, the operation that put it there (a move or a creation) reads the parent again afterwards. A subtree
//! that is moved away during a pass has its own outbox entry. Correctness therefore depends neither on a
//! deadline nor on a lock, and two passes may run at the same time.
//!
//! # Creation and deletion
//!
//! ```text
//!   (insert) ─▶ copying ── parent still there ─▶ settled ─▶ deleting ─▶ (removed)
//!                  └────── parent gone ─▶ (removed)   ▲          │ in use, or interrupted
//!                                                     └──────────┘
//! ```
//!
//! A branch that is still `copying` prevents the deletion of its parent like any child. Other operations don't use
//! it, so that its creator can remove it again ([`Tree::settle`]). A branch that is `deleting` accepts no changes.
//! Readers still see it, because most marked deletions are refused.
//!
//! Moves, changes of slug and deletions hold a lease ([`Lease::wait_for`](crate::flow::lease::Lease::wait_for)),
//! and the deadline of its attempt guards their writes. No guard on a single document can detect two moves
//! that together form a cycle, nor a move below a branch that is being deleted.

mod commands;
mod delete;
mod pass;
mod settle;

use mongodb::bson::{DateTime, Document, doc};
use serde::{Deserialize, Serialize};

use crate::{error::Error, mongo::Stored};

pub use commands::{ChildOf, Tree, changed};
pub use delete::Deleted;
pub use pass::Pass;

/// A document of a tree. The field `cv` holds its version and `parentCv` the version of the parent that it
/// shows; `outbox`, `copying` and `deleting` hold its pending changes. The collection has an index `parent`
/// on [`Self::PARENT`], `_id` and `parentCv`.
pub trait Branch: Stored + Clone {
    /// The handles that are needed to update copies in other collections.
    type Handles: Clone + Send + Sync + 'static;

    /// Name of the lease that protects the tree's shape.
    const LOCK: &'static str;
    /// Name of the tree's fan-outs in logs and traces.
    const FAN_OUT: &'static str;
    /// Field that holds the `_id` of the parent.
    const PARENT: &'static str;
    /// Field that holds the path.
    const PATH: &'static str;
    /// Field that holds the array of its ancestors.
    const ANCESTORS: &'static str;
    /// The reason of the refusal to delete it while it has children.
    const HAS_CHILDREN: &'static str;

    /// Its `_id`.
    fn id(&self) -> &str;
    /// `_id` of its parent; `None` for a root.
    fn parent_id(&self) -> Option<&str>;
    /// Version of the parent that it shows; 0 for a root.
    fn parent_cv(&self) -> i64;
    /// Its path.
    fn path(&self) -> &str;
    /// Number of its ancestors, the length of [`Self::ANCESTORS`].
    fn ancestor_count(&self) -> usize;
    /// Its version.
    fn cv(&self) -> i64;
    /// Changes that haven't reached all copies.
    fn outbox(&self) -> &[FanOut];
    /// Whether its creation is incomplete: it isn't certain yet that its parent remains.
    fn is_copying(&self) -> bool;
    /// The mark of its deletion.
    fn deleting(&self) -> Option<&Deletion>;
    /// Whether only its tombstone is left.
    fn is_deleted(&self) -> bool {
        false
    }
    /// Whether it is being deleted, or only its tombstone is left.
    fn is_being_removed(&self) -> bool {
        self.deleting().is_some() || self.is_deleted()
    }

    /// Stages of a pipeline update that copy the values of `parent` as it was read, or set those of a root. They
    /// don't set `cv` and `parentCv`.
    fn copied_stages(parent: Option<&Self>) -> Vec<Document>;

    /// Guard of a deletion.
    fn deletable(id: &str) -> Document {
        doc! { "_id": id }
    }
    /// Stages of a pipeline update that make a tombstone of a deleted branch. Without them it is removed.
    fn tombstone() -> Option<Vec<Document>> {
        None
    }
    /// The reason of the refusal to delete it, other than its children. The branch is marked as being deleted.
    fn in_use(
        handles: &Self::Handles,
        id: &str,
    ) -> impl Future<Output = Result<Option<&'static str>, Error>> + Send;

    /// Called with branches that are up to date with their ancestors, before [`Self::update_copies`]. May be called
    /// repeatedly for the same branch.
    fn on_updated(
        _handles: &Self::Handles,
        _branches: &[Self],
    ) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }
    /// Updates the copies of the branch in other collections.
    fn update_copies(
        &self,
        handles: &Self::Handles,
    ) -> impl Future<Output = Result<(), Error>> + Send;
}

/// The methods of a [`Branch`] that return the fields of the same name.
macro_rules! fields_of_branch {
    () => {
        fn id(&self) -> &str {
            &self.id
        }

        fn parent_cv(&self) -> i64 {
            self.parent_cv
        }

        fn cv(&self) -> i64 {
            self.cv
        }

        fn outbox(&self) -> &[$crate::flow::tree::FanOut] {
            &self.outbox
        }

        fn is_copying(&self) -> bool {
            self.copying.is_some()
        }

        fn deleting(&self) -> Option<&$crate::flow::tree::Deletion> {
            self.deleting.as_ref()
        }
    };
}
pub(crate) use fields_of_branch;

/// Filter of all documents below a path, `/` being the whole tree. `/` sorts directly before `0`, so everything
/// that begins with `/music/jazz/` is one range, and `/music/jazzy` is outside of it.
pub fn below(field: &str, path: &str) -> Document {
    let path = if path == "/" { "" } else { path };
    doc! { field: { "$gte": format!("{path}/"), "$lt": format!("{path}0") } }
}

/// Outbox entry: a change that has to be copied to all descendants and to other collections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FanOut {
    /// Identifies it.
    pub id: String,
    /// Server time of the change.
    pub at: DateTime,
}

/// The mark of one deletion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deletion {
    /// Identifies it.
    pub by: String,
    /// Server time of the mark.
    pub at: DateTime,
}
