//! Stored documents of the products that were bought together.

use super::super::documents::OrderDocument;
use crate::{domains::carts::CartLine, mongo::prelude::*};

document! {
    /// The mark of an order that the counts of its products haven't followed.
    #[derive(PartialEq, Eq)]
    pub struct Recount {
        /// Server time of the last change.
        pub at: DateTime,
        /// SKUs of all lines, those of removed lines too.
        pub skus: Vec<String>,
    }
}

impl Recount {
    /// The mark of a new order of these lines.
    pub fn of(lines: &[CartLine], now: DateTime) -> Self {
        Self { at: now, skus: lines.iter().map(|line| line.sku.clone()).collect() }
    }
}

document! {
    /// What was bought together with a product and its variants.
    pub(in super::super) struct TogetherDocument {
        /// SKU of the product.
        pub sku as "_id": String,
        /// Rises with each change that is to be counted. It is at least the server's clock, so it also rises from one
        /// document to the next of the same SKU.
        pub changes: i64,
        /// The `changes` that the counts include.
        #[serde(default)]
        pub counted: i64,
        /// Server time since which changes are to be counted; absent if all were.
        pub dirty_at?: DateTime,
        /// Server time of the last count.
        pub counted_at?: DateTime,
        /// The other products by their SKUs, those in most orders first. Their number is bounded.
        #[serde(default)]
        pub others: Vec<Other>,
        pub v: Version<1>,
    } in "boughtTogether" {
        of_field("dirty", "dirtyAt", "the sweep of what was bought together and is to be counted"),
    }

    /// Another product.
    #[derive(PartialEq, Eq)]
    pub(in super::super) struct Other {
        /// SKU of the product.
        pub sku: String,
        /// Number of orders that have both, with any of their variants.
        pub orders: i64,
    }

    /// The fields of an order by which the counts follow it.
    pub(in super::super) struct CountedOrder {
        pub id as "_id": String,
        /// See [`OrderDocument::revision`].
        pub revision: i64,
        /// The mark.
        pub recount: Recount,
    } in OrderDocument: ["revision", "recount"];
}
