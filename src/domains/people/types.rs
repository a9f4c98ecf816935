//! GraphQL types of people.

use std::sync::Arc;

use async_graphql::{ComplexObject, Context};

use super::{
    documents::{PersonAddress, PersonDocument, SuggestedPerson, Work},
    operations::{self, NAME},
};
use crate::{
    domains::{
        catalog::{self, Product},
        images::{self, Image},
    },
    engine::caching::cache_control,
    graphql::prelude::*,
    mongo::terms::Suggested,
};

object! {
    /// A person who contributes to products, such as a musician, an author or an actor.
    pub type Person = PersonDocument as person {
        /// Global id of the person. A new name doesn't change it.
        pub id: ID = NodeKind::PERSON.id(&person.id),
        /// Name as it is displayed, 1 to 200 characters. Several people may have the same name.
        name: &str = &person.name,
        /// Postal address. Null if none is stored, and null with an error unless the caller is a merchant.
        ///
        /// Who: merchant.
        #[graphql(guard = "Who::Role(Role::Merchant)", directive = cache_control::apply(0))]
        address: Option<PersonAddress> = person.address.clone(),
        /// Products that the person contributed to. The one whose credit changed last comes last.
        works: Vec<&Work> = person.works.iter().filter(|work| !work.roles.is_empty()).collect(),
        /// Pictures of the person in order, without those that the caller can't see; at most 20.
        #[graphql(directive = cache_control::apply(0))]
        images(
            context,
            #[graphql(desc = "Maximum number of images, 1 to 20. Default: all.")] first: Option<i32>,
        )?: Vec<Image<'_>> =
            images::first_stored(cx(context), person.images.as_deref(), first).await?,
    }
}

/// A person whose name has the words of a typed text.
#[derive(Debug)]
pub struct PersonSuggestion(pub(super) Arc<Suggested<SuggestedPerson>>);

object! {
    /// A person whose name has the words of the text.
    impl PersonSuggestion as suggestion {
        /// Global id of the person.
        person_id: ID = NodeKind::PERSON.id(&suggestion.0.found.id),
        /// Name of the person.
        name: &str = &suggestion.0.found.name,
        /// Text that was searched instead, if the typed one had a typing error; else null.
        corrected_text: Option<&str> = suggestion.0.corrected.as_deref(),
        /// The person, with all works.
        person(context)?: Option<Person> = {
            let id = NodeKind::PERSON.id(&suggestion.0.found.id);
            operations::person(app(context), &id).await?.map(Person::from)
        },
    }
}

#[ComplexObject]
impl Work {
    /// The product. Null if it was just deleted.
    #[graphql(directive = cache_control::apply(30))]
    async fn product(
        &self,
        context: &Context<'_>,
        #[graphql(
            desc = "Language of titles, descriptions and names of categories. Default: the product's own, and the site's for names."
        )]
        locale: Option<LocaleTag>,
    ) -> Result<Option<Product>> {
        let found = catalog::operations::product(app(context), &self.sku).await?;
        Ok(found.map(|product| Product::of(product, locale)))
    }
}

input! {
    /// Input of `createPerson`: the name and the postal address of the new person.
    pub struct CreatePersonInput {
        /// Name, 1 to 200 characters. Several people may have the same name.
        pub name: String where text(NAME),
        /// Postal address. Default: none.
        pub address: Option<PersonAddressInput> where optional(nested()),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key returns the person that the first
        /// call created.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Postal address of a person.
    pub struct PersonAddressInput: Deserialize {
        /// Street, house number and everything else above the line of the city, 1 to 300 characters.
        pub street: String where text(1..=300),
        /// City with its postal code, 1 to 200 characters.
        pub city: String where text(1..=200),
        /// Assigned ISO 3166-1 country code of two capital letters, such as `DE`.
        pub country: String where country(),
    }

    /// Input of `renamePerson`: the person and the new name.
    pub struct RenamePersonInput {
        /// Global id of the person.
        pub person_id: ID where id(NodeKind::PERSON),
        /// New name, 1 to 200 characters.
        pub name: String where text(NAME),
    }

    /// Input of `setPersonAddress`: the person and the new postal address.
    pub struct SetPersonAddressInput {
        /// Global id of the person.
        pub person_id: ID where id(NodeKind::PERSON),
        /// New address. If it is left out or null, the stored address is removed.
        pub address: Option<PersonAddressInput> where optional(nested()),
    }
}

impl From<PersonAddressInput> for PersonAddress {
    fn from(PersonAddressInput { street, city, country }: PersonAddressInput) -> Self {
        Self { street, city, country }
    }
}

result! {
    /// Result of `createPerson`: the person, or a refusal. `Conflict`: this `idempotencyKey` was used with another input.
    pub enum CreatePersonResult:
        PersonDocument => Person | Conflict | InvalidInput;

    /// Result of `renamePerson`: the person with the new name, or a refusal.
    pub enum RenamePersonResult:
        PersonDocument => Person | NotFound | InvalidInput;

    /// Result of `setPersonAddress`: the person, or a refusal.
    pub enum SetPersonAddressResult:
        PersonDocument => Person | NotFound | InvalidInput;
}
