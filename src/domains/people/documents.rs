//! What MongoDB sees of people.

use mongodb::bson::DateTime;
use serde::{Deserialize, Serialize};

use crate::mongo::{
    Stored, Version,
    indexes::{Index, Key, Kind},
};

/// One person.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PersonDocument {
    /// Made from the op id that created it.
    #[serde(rename = "_id")]
    pub id: String,
    /// Name as shown.
    pub name: String,
    /// Name in lower case, for prefixes.
    pub name_key: String,
    /// Where the person can be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<PersonAddress>,
    /// Copies of what products say of the person, one entry per product.
    #[serde(default)]
    pub works: Vec<Work>,
    /// Rises with the name.
    pub version: i64,
    /// Names that are still to be spread over the products.
    #[serde(default)]
    pub outbox: Vec<NameDue>,
    /// Digest of the input that created it, by which a repeat is known.
    pub origin: String,
    /// Version of the shape.
    pub v: Version<1>,
}

/// Where a person can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonAddress {
    /// Street, house, and what else stands above the city.
    pub street: String,
    /// City with its code.
    pub city: String,
    /// ISO 3166 country code.
    pub country: String,
}

/// What a product says of the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    /// The product.
    pub sku: String,
    /// Its title.
    pub title: String,
    /// The person's parts in it; none in a stone.
    pub roles: Vec<String>,
    /// Version of the product of which this is a copy.
    pub version: i64,
    /// Server time at which the entry became a stone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stone_at: Option<DateTime>,
}

/// Outbox entry: a name that is still to be spread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameDue {
    /// The person's version that made it due.
    pub version: i64,
    /// Server time of the decision.
    pub at: DateTime,
}

impl Stored for PersonDocument {
    const COLLECTION: &'static str = "people";
    const INDEXES: &'static [Index] = &[
        Index {
            name: "name",
            keys: &[("nameKey", Key::Up), ("_id", Key::Up)],
            kind: Kind::Plain,
            serves: "people by the beginning of their name",
        },
        Index {
            name: "outbox",
            keys: &[("outbox.at", Key::Up)],
            kind: Kind::Where("outbox.at"),
            serves: "the sweep of names that are still to be spread",
        },
        Index {
            name: "stones",
            keys: &[("works.stoneAt", Key::Up)],
            kind: Kind::Where("works.stoneAt"),
            serves: "the sweep that takes the stones of works",
        },
    ];
}

/// A person's name without the works, for those who copy it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonName {
    /// The person.
    #[serde(rename = "_id")]
    pub id: String,
    /// The name.
    pub name: String,
    /// Its version.
    pub version: i64,
    /// How many works the person has, stones included.
    pub works: i64,
}

impl Stored for PersonName {
    const COLLECTION: &'static str = PersonDocument::COLLECTION;
    const INDEXES: &'static [Index] = &[];
}

/// A product, as far as this room writes into it: the copies of names.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CreditedProduct {
    /// The SKU.
    #[serde(rename = "_id")]
    pub(super) sku: String,
}

impl Stored for CreditedProduct {
    const COLLECTION: &'static str = "products";
    const INDEXES: &'static [Index] = &[];
}
