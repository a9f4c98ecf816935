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
//! The operation that made a change begins its pass with the branch as the change has left it. If the change wasn't a move,
//! the pass needs nothing from the parent. It then removes only the entry of its own change, since another one may be that of
//! a move.
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
//! that together form a cycle, nor a move below a branch that is being deleted. If one of these writes was sent twice, its
//! first copy may arrive until that deadline. The lease then expires later than that, instead of being released.

mod commands;
mod delete;
mod pass;
mod settle;

use mongodb::bson::{DateTime, Document, doc};

use crate::{
    error::Error,
    mongo::{Stored, expression::literal, stored::document},
};

pub use commands::{ChildOf, Tree, changed};
pub use delete::Deleted;
pub use pass::Pass;

/// A document of a tree. The collection has an index `parent` on [`Self::PARENT`], `_id` and `parentCv`, and a unique
/// index `slug` on [`Self::PARENT`] and [`Self::SLUG`].
pub trait Branch: Stored + Clone {
    /// The handles that are needed to update copies in other collections.
    type Handles: Clone + Send + Sync + 'static;

    /// Name of the lease that protects the tree's shape.
    const LOCK: &'static str;
    /// Name of the tree's fan-outs in logs and traces.
    const FAN_OUT: &'static str;
    /// Field that holds the `_id` of the parent.
    const PARENT: &'static str;
    /// Field that holds the slug.
    const SLUG: &'static str;
    /// Field that holds the path.
    const PATH: &'static str;
    /// The reason of the refusal to delete it while it has children.
    const HAS_CHILDREN: &'static str;
    /// Name of the index on the times in the outbox.
    const OUTBOX: &'static str;

    /// Its `_id`.
    fn id(&self) -> &str;
    /// `_id` of its parent; `None` for a root.
    fn parent_id(&self) -> Option<&str>;
    /// Its step in paths, unique below its parent.
    fn slug(&self) -> &str;
    /// Its path.
    fn path(&self) -> &str;
    /// Its version and pending changes.
    fn tree(&self) -> &TreeFields;
    /// Whether only its tombstone is left.
    fn is_deleted(&self) -> bool {
        false
    }
    /// Whether it is being deleted, or only its tombstone is left.
    fn is_being_removed(&self) -> bool {
        self.tree().deleting.is_some() || self.is_deleted()
    }
    /// Number of branches from the root to itself, as its path shows it.
    fn depth(&self) -> usize {
        self.path().matches('/').count()
    }

    /// Stages of a pipeline update that copy the values of `parent` as it was read, or set those of a root. They
    /// don't set `cv` and `parentCv`.
    fn copied_stages(parent: Option<&Self>) -> Vec<Document>;

    /// Guard of a change: the branch exists and isn't being deleted.
    fn changeable(id: &str) -> Document;
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

document! {
    /// The fields of every branch that only this module changes. They are flattened into its document.
    #[derive(PartialEq)]
    pub struct TreeFields {
        /// Version of everything that is copied from the branch. It begins at the server's time in milliseconds, so that
        /// a branch that is created again under an old `_id` is newer than every copy of the former one.
        pub cv: i64,
        /// Version of the parent that it shows; 0 for a root.
        pub parent_cv: i64,
        /// Changes that haven't reached all copies.
        #[serde(default)]
        pub outbox: Vec<FanOut>,
        /// Server time of its creation, until it is certain that its parent remains.
        pub copying?: DateTime,
        /// Set during a deletion, while its uses are searched for.
        pub deleting?: Deletion,
    }
}

impl TreeFields {
    /// The fields of a new branch below `parent` as it was read, or of a new root.
    pub fn new(parent: Option<&Self>, now: DateTime) -> Self {
        Self {
            cv: now.timestamp_millis(),
            parent_cv: parent.map_or(0, |parent| parent.cv),
            outbox: Vec::new(),
            // A root copies nothing from a parent.
            copying: parent.map(|_| now),
            deleting: None,
        }
    }
}

/// The path of a branch with this slug below `parent`, or of a root.
pub fn path_below<T: Branch>(parent: Option<&T>, slug: &str) -> String {
    format!("{}/{slug}", parent.map_or("", T::path))
}

/// The same as an expression of a pipeline update, with the slug that the document has.
pub fn path_expression<T: Branch>(parent: Option<&T>) -> Document {
    let slug = format!("${}", T::SLUG);
    doc! { "$concat": [literal(parent.map_or("", T::path)), "/", slug] }
}

/// Filter of all documents below a path, `/` being the whole tree. `/` sorts directly before `0`, so everything
/// that begins with `/music/jazz/` is one range, and `/music/jazzy` is outside of it.
pub fn below(field: &str, path: &str) -> Document {
    let path = if path == "/" { "" } else { path };
    doc! { field: { "$gte": format!("{path}/"), "$lt": format!("{path}0") } }
}

document! {
    /// Outbox entry: a change that has to be copied to all descendants and to other collections.
    #[derive(PartialEq)]
    pub struct FanOut {
        /// Identifies it.
        pub id: String,
        /// Server time of the change.
        pub at: DateTime,
    }

    /// The mark of one deletion.
    #[derive(PartialEq)]
    pub struct Deletion {
        /// Identifies it.
        pub by: String,
        /// Server time of the mark.
        pub at: DateTime,
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::{self, RawDocumentBuf};
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Flattened {
        #[serde(rename = "_id")]
        id: String,
        #[serde(flatten)]
        tree: TreeFields,
        input: String,
    }

    #[test]
    fn flattened_fields_are_stored_among_the_others() {
        let now = DateTime::from_millis(1_700_000_000_123);
        let all = doc! {
            "_id": "a", "cv": 2_i64, "parentCv": 1_i64, "outbox": [{ "id": "b", "at": now }],
            "copying": now, "deleting": { "by": "c", "at": now }, "input": "d",
        };
        let few = doc! { "_id": "a", "cv": 2_i64, "parentCv": 0_i64, "outbox": [], "input": "d" };
        for stored in [all, few] {
            let raw = RawDocumentBuf::try_from(&stored).expect("bytes");
            let read: Flattened = bson::deserialize_from_slice(raw.as_bytes()).expect("a branch");
            let written = bson::serialize_to_raw_document_buf(&read).expect("bytes");
            assert_eq!(written, raw);
        }
    }
}
