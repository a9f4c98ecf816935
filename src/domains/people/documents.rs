//! Stored documents of people.

use async_graphql::{ID, SimpleObject};

use crate::{
    domains::images::ImageRef,
    mongo::{
        prelude::*,
        terms::{Termed, Terms},
    },
};

document! {
    /// One person.
    pub struct PersonDocument {
        /// Derived from the idempotency key that created it.
        pub id as "_id": String,
        pub name: String,
        /// Name in lower case, for searches by prefix.
        pub name_key: String,
        /// The words of the name, by which `suggest` finds the person.
        pub search?: Terms,
        pub address?: PersonAddress,
        /// Copies of the products' credits of the person, one entry per product.
        #[serde(default)]
        pub works: Vec<Work>,
        /// Pictures of the person, which `setImages` writes.
        pub images?: Vec<ImageRef>,
        /// Rises with each change of the name.
        pub version: i64,
        /// The outbox: names that are still to be written to the products.
        #[serde(default)]
        pub outbox: Vec<NameDue>,
        /// Digest of the input that created it, which identifies a repeat.
        pub origin: String,
        pub v: Version<1>,
    } in "people" {
        plain("name", "nameKey _id", "people by the beginning of their name"),
        plain("words", "search.words nameKey _id", "suggestions of people while somebody types"),
        of_field("outbox", "outbox.at", "the sweep of names that are still to be spread"),
        of_field("stones", "works.stoneAt", "the sweep that removes tombstones of works"),
        + Terms::BY_VARIANT,
    }

    /// Postal address of a person.
    #[derive(PartialEq, Eq, SimpleObject)]
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
    #[derive(PartialEq, Eq, SimpleObject)]
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
        pub removed_at as "stoneAt"?: DateTime,
    }

    /// Outbox entry: a name that is still to be written to the products.
    #[derive(PartialEq, Eq)]
    pub struct NameDue {
        /// The version of the person with this name.
        pub version: i64,
        /// Server time of the commit.
        pub at: DateTime,
    }

    /// A person's name without the works, for copies.
    #[derive(PartialEq, Eq)]
    pub struct PersonName {
        /// `_id` of the person.
        pub id as "_id": String,
        pub name: String,
        /// Version of the name.
        pub version: i64,
        /// Number of works of the person, tombstones included.
        pub works: i64,
    } in PersonDocument;

    /// What `suggest` shows of a person.
    pub(super) struct SuggestedPerson {
        /// `_id` of the person.
        pub id as "_id": String,
        pub name: String,
        /// The person's words, if the text had a typing error.
        pub search?: Terms,
    } in PersonDocument;

    /// The fields of a product that this room writes: the copies of names.
    pub(super) struct CreditedProduct {
        pub(super) sku as "_id": String,
    } in "products";
}

impl PersonDocument {
    /// The terms of a person with this name.
    pub(super) fn terms(name: &str) -> Terms {
        Terms::of([name].into_iter(), [].into_iter())
    }
}

impl Termed for SuggestedPerson {
    const FIELDS: &'static [&'static str] = &["name"];

    fn take_terms(&mut self) -> Option<Terms> {
        self.search.take()
    }
}
