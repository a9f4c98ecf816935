//! What clients see of people.

use async_graphql::{ID, InputObject, Object, SimpleObject, Union};
use serde::{Deserialize, Serialize};

use super::documents::{self, PersonDocument};
use crate::graphql::{
    caching::cache_control,
    node_id::NodeKind,
    refusals::{Conflict, InvalidInput, NotFound},
    requester::{Role, Who},
};

/// Someone who makes things: a musician, an author, an actor.
#[derive(Debug)]
pub struct Person(pub PersonDocument);

/// Someone who makes things: a musician, an author, an actor.
#[Object]
impl Person {
    /// Global id.
    pub async fn id(&self) -> ID {
        NodeKind::Person.id(&self.0.id)
    }

    /// The name.
    async fn name(&self) -> &str {
        &self.0.name
    }

    /// Where the person can be reached; null where that isn't known, and with an error for others
    /// than merchants.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)", directive = cache_control::apply(0))]
    async fn address(&self) -> Option<PersonAddress> {
        self.0.address.clone().map(PersonAddress::from)
    }

    /// The products that the person had a part in, the one changed last at the end.
    async fn works(&self) -> Vec<Work> {
        let there = self.0.works.iter().filter(|work| !work.roles.is_empty());
        there.map(Work::from).collect()
    }
}

/// Where a person can be reached.
#[derive(Debug, SimpleObject)]
pub struct PersonAddress {
    /// Street, house, and what else stands above the city.
    street: String,
    /// City with its code.
    city: String,
    /// ISO 3166 country code, such as `DE`.
    country: String,
}

impl From<documents::PersonAddress> for PersonAddress {
    fn from(address: documents::PersonAddress) -> Self {
        let documents::PersonAddress { street, city, country } = address;
        Self { street, city, country }
    }
}

/// A product that a person had a part in.
#[derive(Debug, SimpleObject)]
pub struct Work {
    /// The product.
    sku: ID,
    /// Its title.
    title: String,
    /// Which parts, such as `author`.
    roles: Vec<String>,
}

impl From<&documents::Work> for Work {
    fn from(work: &documents::Work) -> Self {
        let documents::Work { sku, title, roles, .. } = work;
        Self { sku: ID(sku.clone()), title: title.clone(), roles: roles.clone() }
    }
}

/// A new person.
#[derive(Debug, InputObject)]
pub struct CreatePersonInput {
    /// The name, 1 to 200 characters.
    pub name: String,
    /// Where the person can be reached.
    pub address: Option<PersonAddressInput>,
    /// Your idempotency key: the same call sent again under it makes one person.
    pub op_id: Option<ID>,
}

/// Where a person can be reached.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonAddressInput {
    /// Street, house, and what else stands above the city, 1 to 300 characters.
    pub street: String,
    /// City with its code, 1 to 200 characters.
    pub city: String,
    /// Country code of two capital letters that ISO 3166-1 has assigned, such as `DE`.
    pub country: String,
}

/// Another name for a person.
#[derive(Debug, InputObject)]
pub struct RenamePersonInput {
    /// Who, by global id.
    pub person_id: ID,
    /// The name, 1 to 200 characters.
    pub name: String,
}

/// Another address for a person.
#[derive(Debug, InputObject)]
pub struct SetPersonAddressInput {
    /// Who, by global id.
    pub person_id: ID,
    /// The address; without one, the stored address is removed.
    pub address: Option<PersonAddressInput>,
}

/// What became of a new person.
#[derive(Union)]
pub enum CreatePersonResult {
    Person(Person),
    Conflict(Conflict),
    InvalidInput(InvalidInput),
}

/// What became of another name.
#[derive(Union)]
pub enum RenamePersonResult {
    Person(Person),
    NotFound(NotFound),
    InvalidInput(InvalidInput),
}

/// What became of another address.
#[derive(Union)]
pub enum SetPersonAddressResult {
    Person(Person),
    NotFound(NotFound),
    InvalidInput(InvalidInput),
}

impl From<PersonDocument> for CreatePersonResult {
    fn from(person: PersonDocument) -> Self {
        Self::Person(Person(person))
    }
}

impl From<PersonDocument> for RenamePersonResult {
    fn from(person: PersonDocument) -> Self {
        Self::Person(Person(person))
    }
}

impl From<PersonDocument> for SetPersonAddressResult {
    fn from(person: PersonDocument) -> Self {
        Self::Person(Person(person))
    }
}
