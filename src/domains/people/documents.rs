//! Stored documents of people.

use async_graphql::{ID, SimpleObject};
use mongodb::bson::DateTime;
use serde::{Deserialize, Serialize};

use crate::mongo::{Stored, Version, indexes::Index};

/// One person.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PersonDocument {
    /// Derived from the idempotency key that created it.
    #[serde(rename = "_id")]
    pub id: String,
    pub name: String,
    /// Name in lower case, for searches by prefix.
    pub name_key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<PersonAddress>,
    /// Copies of the products' credits of the person, one entry per product.
    #[serde(default)]
    pub works: Vec<Work>,
    /// Rises with each change of the name.
    pub version: i64,
    /// The outbox: names that are still to be written to the products.
    #[serde(default)]
    pub outbox: Vec<NameDue>,
    /// Digest of the input that created it, which identifies a repeat.
    pub origin: String,
    pub v: Version<1>,
}

/// Postal address of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, SimpleObject)]
pub struct PersonAddress {
    /// Street, house number and everything else above the line of the city.
    pub street: String,
    /// City with its postal code.
    pub city: String,
    /// ISO 3166-1 country code, such as `DE`.
    pub country: String,
}

/// A product that a person contributed to.
// The copy of the product's credits of the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, SimpleObject)]
#[graphql(complex)]
pub struct Work {
    /// SKU of the product.
    pub sku: ID,
    /// Title of the product.
    pub title: String,
    /// Roles of the person in the product, such as `author`.
    pub roles: Vec<String>,
    /// Version of the product when it was copied.
    #[graphql(skip)]
    pub version: i64,
    /// Server time at which the entry became a tombstone, which has no roles.
    #[graphql(skip)]
    #[serde(default, rename = "stoneAt", skip_serializing_if = "Option::is_none")]
    pub removed_at: Option<DateTime>,
}

/// Outbox entry: a name that is still to be written to the products.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameDue {
    /// The version of the person with this name.
    pub version: i64,
    /// Server time of the commit.
    pub at: DateTime,
}

impl Stored for PersonDocument {
    const COLLECTION: &'static str = "people";
    const INDEXES: &'static [Index] = &[
        Index::plain("name", "nameKey _id", "people by the beginning of their name"),
        Index::of_field("outbox", "outbox.at", "the sweep of names that are still to be spread"),
        Index::of_field("stones", "works.stoneAt", "the sweep that removes tombstones of works"),
    ];
}

/// A person's name without the works, for copies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonName {
    /// `_id` of the person.
    #[serde(rename = "_id")]
    pub id: String,
    pub name: String,
    /// Version of the name.
    pub version: i64,
    /// Number of works of the person, tombstones included.
    pub works: i64,
}

impl Stored for PersonName {
    const COLLECTION: &'static str = PersonDocument::COLLECTION;
}

/// The fields of a product that this room writes: the copies of names.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CreditedProduct {
    /// The SKU.
    #[serde(rename = "_id")]
    pub(super) sku: String,
}

impl Stored for CreditedProduct {
    const COLLECTION: &'static str = "products";
}
