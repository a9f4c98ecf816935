//! The mark of a product that the facets of its categories haven't followed yet.
//!
//! Facets count the products of a category ([`categories`](super::categories)). Every write that changes what they count
//! sets the mark in the same update, also the writes of the rooms that have copies in products. The mark remembers the
//! paths that the product may still be counted under, because a write may take it out of categories.

use crate::mongo::prelude::*;

document! {
    /// The mark of a product whose last changes the facets of its categories haven't followed.
    #[derive(PartialEq, Eq)]
    pub struct FacetMark {
        /// Rises with each change. Only a caller that read the last one may remove the mark.
        pub changes: i64,
        /// Server time of the last change; absent once it was followed.
        pub at?: DateTime,
        /// Paths of the categories that contained the product before the changes that weren't followed.
        #[serde(default)]
        pub left: Vec<String>,
    }
}

impl FacetMark {
    /// The mark of a new product.
    pub fn new(now: DateTime) -> Self {
        Self { changes: 1, at: Some(now), left: Vec::new() }
    }
}

/// Expression of the field `facets` of a product, in an update that changes what facets count. It is evaluated before
/// the change. A product without categories isn't counted, and keeps the mark that it has; with `begins` the update puts
/// it into categories.
pub fn changed(begins: bool) -> Bson {
    let left = doc! { "$reduce": {
        "input": array("categories.within"),
        "initialValue": array("facets.left"),
        "in": { "$setUnion": ["$$value", "$$this"] },
    } };
    let changes = doc! { "$add": [{ "$ifNull": ["$facets.changes", 0_i64] }, 1_i64] };
    let mark = whole(doc! { "changes": changes, "at": "$$NOW", "left": left });
    if begins {
        return mark;
    }
    let is_counted = doc! { "$ne": [array("categories"), []] };
    choose(is_counted, mark, "$facets")
}
