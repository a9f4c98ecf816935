//! Stored documents of facets.

use crate::{domains::counted::FacetMark, graphql::scalars::CurrencyCode, mongo::prelude::*};

document! {
    /// The facets of a category: counts of its products and of those below it.
    pub struct FacetsDocument {
        /// Path of the category.
        pub path as "_id": String,
        /// Rises with each change that is to be counted. It is at least the server's clock, so it also rises from one
        /// document to the next of the same path.
        pub changes: i64,
        /// The `changes` that the counts include.
        #[serde(default)]
        pub counted: i64,
        /// Server time since which changes are to be counted; absent if all were.
        pub dirty_at?: DateTime,
        /// Server time of the last count.
        pub counted_at?: DateTime,
        /// The counts; absent until the first count.
        pub counts?: Counts,
        pub v: Version<1>,
    } in "categoryFacets" {
        of_field("dirty", "dirtyAt", "the sweep of facets that are to be counted"),
    }

    /// Counts of products. The lists have a bounded length, and begin with the most frequent values.
    #[derive(Default, PartialEq, Eq)]
    pub struct Counts {
        /// Number of products in the category or below it.
        pub total: i64,
        /// Number of products in the category itself.
        pub direct: i64,
        /// By type.
        pub types: Vec<ValueCount>,
        /// By price; all bands that have products, in their order.
        pub prices: Vec<PriceCount>,
        /// By contributor.
        pub contributors: Vec<ContributorCount>,
        /// By property.
        pub properties: Vec<PropertyCount>,
    }

    /// The number of products with a value.
    #[derive(PartialEq, Eq)]
    pub struct ValueCount {
        pub value: String,
        pub count: i64,
    }

    /// The number of products in a band of prices.
    #[derive(PartialEq, Eq)]
    pub struct PriceCount {
        pub currency: CurrencyCode,
        /// Lowest price of the band, in minor units.
        pub min: i64,
        pub count: i64,
    }

    /// The number of products of a contributor, in whatever roles.
    #[derive(PartialEq, Eq)]
    pub struct ContributorCount {
        /// `_id` of the person.
        pub person_id: String,
        /// Copy of the person's name.
        pub name: String,
        pub count: i64,
    }

    /// The number of products with a property.
    #[derive(PartialEq, Eq)]
    pub struct PropertyCount {
        pub key: String,
        pub value: String,
        pub count: i64,
    }
}

impl FacetsDocument {
    /// The facets of a path whose products weren't counted.
    pub(super) fn empty(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            changes: 0,
            counted: 0,
            dirty_at: None,
            counted_at: None,
            counts: None,
            v: Version,
        }
    }
}

document! {
    /// The fields of a product by which facets follow it. The catalog owns the collection and declares the index
    /// `facets.at`.
    pub struct CountedProduct {
        /// SKU of the product.
        pub sku as "_id": String,
        /// Generation of the product.
        pub generation as "incarnation": String,
        /// The paths of its categories.
        #[serde(default)]
        pub categories: Vec<Within>,
        /// The mark.
        pub facets: FacetMark,
    } in "products": ["incarnation", "categories.within", "facets"];

    /// The paths of one of its categories.
    pub struct Within {
        /// See [`CategoryCopy`](super::super::CategoryCopy).
        pub within: Vec<String>,
    }
}

impl CountedProduct {
    /// The paths that it may be counted under.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        let now = self.categories.iter().flat_map(|category| &category.within);
        now.chain(&self.facets.left).map(String::as_str)
    }
}
