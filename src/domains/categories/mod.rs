//! The category tree, with names in any number of languages.
//!
//! Every category carries its path to the root (`path`, `ancestors`), so that breadcrumbs, a menu and a
//! subtree are one read each. Products carry copies of their categories (`products` belongs to the catalog;
//! this room writes the copies in it).
//!
//! # Records
//!
//! A category's document is the record of `slug`, `names` and `parentId`, and the decider of their changes. Everything
//! else is a copy: `path`,
//! `parentPath` and `ancestors` come from the parent by the mechanism of [`crate::flow::tree`]; products
//! carry `slug`, `path`, `names` and `within`, in the version of the category's `cv`. Creations, deletions
//! and fan-outs are those of [`crate::flow::tree`].
//!
//! # Slugs
//!
//! A slug is unique below one parent, so a path is the name of one category. A unique index on the document's
//! own fields `slug` and `parentId` enforces this: the write of a creation, a move or a change of slug that
//! would break it is refused. `path` has no unique index: it is a copy, and until a change of the tree has
//! reached everything below, two categories may show the same path. Readers then get the one that was changed
//! last; callers that depend on the path get `UNAVAILABLE`.
//!
//! # The lock of the tree
//!
//! Moves, changes of slug and deletions hold the lease `categories.tree`, and their writes carry the deadline
//! of its attempt. A guard on either child can't detect two moves that together create a cycle, nor a move
//! below a category that is being deleted. The lease is released when the write was answered. After an
//! unknown outcome it expires by itself, and until then such changes answer `UNAVAILABLE`. Fan-outs don't
//! need it.
//!
//! # Facets
//!
//! [`facets`] describes the document with the counts of a category's products.
//!
//! # Invariants
//!
//! The facets are what a recount gives. Every `path`, `parentPath` and `ancestors`, and every copy in products, follows from
//! the slugs, names and parents. No path exists twice.

mod documents;
mod facets;
pub mod import;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
pub mod types;

use super::{
    Room,
    broadcasts::broadcasts,
    images::Illustrated,
    metadata::MetadataOwner,
    nodes::{Node, NodeType, node_type},
    room::documented,
};
use crate::{
    graphql::prelude::*,
    mongo::{
        Stored,
        condition::{Condition, is_absent},
        personal::Personal,
    },
};
pub use documents::{CategoryCopy, CategoryCopyView, CategoryDocument, name_in};
pub use facets::{CategoryFacets, FacetsDocument, total};
pub use operations::copies;
pub use types::{Category, CategoryBy};

/// Maximum number of names of one category.
const MAX_NAMES: usize = 100;
/// Maximum length of a name, in characters.
const LONGEST_NAME: usize = 200;

impl NodeKind {
    /// A category of the tree.
    pub const CATEGORY: Self = Self::new("category");
}

pub const ROOM: Room = Room {
    nodes: &[NodeType {
        natural_key: Some(("path", |cx, path| {
            Box::pin(async move {
                let found = operations::category(&cx, CategoryBy::Path(path.to_string())).await?;
                Ok(found.map(Category::from).map(Node::of))
            })
        })),
        ..node_type!(CATEGORY: Category, |cx, id| {
            operations::category(&cx, CategoryBy::Id(id.clone()))
        })
    }],
    illustrated: &[Illustrated {
        kind: NodeKind::CATEGORY,
        collection: CategoryDocument::COLLECTION,
        exists: || is_absent("deleting"),
    }],
    metadata: &[MetadataOwner::of::<CategoryDocument>(NodeKind::CATEGORY, Role::Merchant, || {
        Condition::All(Vec::new())
    })],
    documents: &[documented::<CategoryDocument>(), documented::<FacetsDocument>()],
    broadcasts: broadcasts! {
        "categoryFacets" {
            find "dirtyAt" = "sweep: facets that are to be counted",
        }
    },
    personal: &[
        Personal::nothing("categories", "names of categories"),
        Personal::nothing("categoryFacets", "numbers of products"),
    ],
    sweep: Some(|app, sweep| {
        Box::pin(async move {
            store::Categories::over(app).sweep(sweep).await;
            facets::sweep(app, sweep).await;
        })
    }),
    recount: Some(|app, sweep| Box::pin(facets::recount(app, sweep))),
    check: Some(|app, report| {
        Box::pin(async move {
            invariants::check(app, report).await?;
            facets::check(app, report).await
        })
    }),
    repair: Some(|app, _| Box::pin(facets::repair(app))),
    ..Room::new("categories")
};
