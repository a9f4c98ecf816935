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

/// Expression of the field `facets` of a product, in an update that changes what facets count if `is_other` (an expression)
/// holds. Both are evaluated before the change. The product keeps the mark that it has if nothing counted changes, or if it
/// has no categories and so isn't counted; with `begins` the update puts it into categories. A product that never had a mark
/// was stored by a version without facets, and gets one in any case.
pub fn changed(begins: bool, is_other: impl Into<Bson>) -> Bson {
    let left = doc! { "$reduce": {
        "input": array("categories.within"),
        "initialValue": array("facets.left"),
        "in": { "$setUnion": ["$$value", "$$this"] },
    } };
    let changes = doc! { "$add": [{ "$ifNull": ["$facets.changes", 0_i64] }, 1_i64] };
    let mark = whole(doc! { "changes": changes, "at": "$$NOW", "left": left });
    let (is_new, is_other): (_, Bson) = (is_missing("facets.changes"), is_other.into());
    let mut all = vec![Bson::from(doc! { "$or": [is_new, is_other] })];
    if !begins {
        all.push(doc! { "$ne": [array("categories"), []] }.into());
    }
    choose(doc! { "$and": all }, mark, "$facets")
}

/// Expression: an array has other values of a field than these, or in another order. It is evaluated before the change.
pub fn has_others(list: &str, field: &str, values: Vec<&str>) -> Document {
    let values: Vec<Bson> = values.into_iter().map(Bson::from).collect();
    doc! { "$ne": [map(array(list), format!("$$this.{field}")), literal(values)] }
}
