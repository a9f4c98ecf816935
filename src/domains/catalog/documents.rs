//! What MongoDB sees of the catalog.

use serde::{Deserialize, Serialize};

use crate::{
    graphql::scalars::CurrencyCode,
    mongo::{Stored, Version, indexes::Index},
};

/// One product, whatever its kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProductDocument {
    /// The SKU.
    #[serde(rename = "_id")]
    pub sku: String,
    /// `album`, `film`, `book`, or any other type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Title as shown.
    pub title: String,
    /// What it costs.
    pub pricing: Pricing,
    /// Set while the product is being removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleting: bool,
    /// Version of the shape.
    pub v: Version<1>,
}

/// Prices in minor units of one currency. Savings are computed by the server.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pricing {
    /// List price.
    pub list: i64,
    /// Price at which it is sold.
    pub retail: i64,
    /// `list − retail`.
    pub savings: i64,
    /// Savings in per cent of the list price, rounded down.
    pub pct_savings: i32,
    /// Currency of all of them.
    pub currency: CurrencyCode,
}

impl Stored for ProductDocument {
    const COLLECTION: &'static str = "products";
    const INDEXES: &'static [Index] = &[];
}
