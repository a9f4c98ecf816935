//! The category tree, in as many languages as its names are given in.
//!
//! Every category carries its whole way to the root (`path`, `ancestors`), so that breadcrumbs, a
//! menu and a subtree are one read each. Products carry copies of their categories (`products`
//! belongs to the catalog; the copies in it are written from here).
//!
//! # Who decides
//!
//! `slug`, `names` and `parentId` are a category's own; the category's document decides about them.
//! Everything else is a copy, and every copy goes over one edge:
//!
//! ```text
//!   parent ── path, ancestors, own slug and names ──▶ child ── the same ──▶ its children …
//!     cv                                    parentCv    cv
//!                                                       └── slug, path, names, within ──▶ products
//!                                                                                            cv
//! ```
//!
//! `cv` is the category's version; each write that changes anything that copies show raises it,
//! also the write of a copy that came down from the parent. A child takes over what its parent
//! shows only where `parentCv` is lower than the version it was read at, so a write that is late,
//! repeated or overtaken changes nothing. Where a child stands, and at which version of its parent,
//! is written in one update; its `path` ends in its own slug because the update itself appends it.
//!
//! # Fan-outs
//!
//! A write of names, slug or place also puts an entry into the category's `outbox`. The pass for it
//! goes down the tree by `parentId`, parents before children: it lets the category itself follow its
//! parent (who moves could have missed a change of the new parent), spreads it to products, lets its
//! children follow, and so on. Then the entries that it found at its beginning go. A cut pass is
//! begun again by the sweep and passes quickly over what is done. Why that is enough, for one edge:
//! after each change of the parent some pass visits its children; that pass either finds a child, or
//! the child came under this parent later, and who brought it there (a move, a creation) reads the
//! parent again afterwards. A subtree that leaves while a pass is under way takes an entry of its
//! own with it. So nothing of this hangs on a deadline, a lock, or on two passes not meeting.
//!
//! # Creation and deletion
//!
//! ```text
//!   (insert) ─▶ copying ── parent still there ─▶ settled ─▶ deleting ─▶ (removed)
//!                  └────── parent gone ─▶ (removed)   ▲          │ in use, or cut
//!                                                     └──────────┘
//! ```
//!
//! A category that is still `copying` counts as a child when its parent is to be deleted, and for
//! everyone else doesn't exist as a parent or as a category of products, so that its creator can
//! take it back. One that is `deleting` takes no changes; readers still see it, because most
//! deletions that are marked are refused.
//!
//! # The tree's lock
//!
//! Moves, changes of slug and deletions hold the lease `categories.tree`, and their writes the
//! deadline of its run. Two moves that together make a circle can't be seen by a guard on either
//! child, nor a move below a category that is being deleted. The lock is given back when the write
//! was answered; after an unknown outcome it runs out by itself, and until then such changes answer
//! `UNAVAILABLE`. Fan-outs go on without it.
//!
//! # Invariants
//!
//! Every `path`, `parentPath` and `ancestors`, and every copy in products, equals what the slugs,
//! names and parents imply.

mod documents;
pub mod import;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
pub mod sweep;
pub mod types;

pub use documents::{CategoryCopy, CategoryDocument, name_in};
pub use operations::copies;
