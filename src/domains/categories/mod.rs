//! The category tree, in as many languages as its names are given in.
//!
//! Every category carries its whole way to the root (`path`, `ancestors`), so that breadcrumbs, a
//! menu and a subtree are one read each. Products carry copies of their categories (`products`
//! belongs to the catalog; the copies in it are written from here).
//!
//! # Who decides
//!
//! `slug`, `names` and `parentId` are a category's own; the category's document decides about them.
//! Everything else is a copy: what comes down from the parent (`path`, `parentPath`, `ancestors`) as
//! [`crate::mongo::tree`] has it, and what products carry (`slug`, `path`, `names`, `within`), which goes
//! by the category's version `cv` too. Creations, deletions and fan-outs are those of such trees.
//!
//! # Slugs
//!
//! A slug is unique below one parent, so a path is the name of one category. What keeps it so is a unique
//! index on what the document decides itself, `slug` and `parentId`: a creation, a move or a change of slug
//! that would make two is refused by its own write. `path` has no unique index: it is a copy, and while a
//! change of the tree is on its way down, two categories may show the same path. Readers then get the one
//! that was changed last; who builds upon a path is told `UNAVAILABLE`.
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
//! names and parents imply; no path is there twice.

mod documents;
pub mod import;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
pub mod sweep;
pub mod types;

pub use documents::{CategoryCopy, CategoryCopyView, CategoryDocument, name_in};
pub use operations::copies;
