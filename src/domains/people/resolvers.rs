//! Resolvers: they translate between GraphQL and the operations of people.

use super::operations;
use crate::{engine::caching::cache_control, graphql::prelude::*};

queries! {
    /// Query fields.
    pub struct PeopleQuery;

    /// A person by global id. Null if there is none.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(300))]
    person(
        context,
        #[graphql(desc = "Global id of the person.")] id: ID,
    ): Option<Person> = operations::person(app(context), &id).await?.map(Person::from),

    /// People, sorted by name.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(300))]
    people(
        context,
        #[graphql(
            desc = "Beginning of the name; upper and lower case are treated as equal. Default: all people."
        )]
        name_starts_with: Option<String>,
    ): Connection<Person> = {
        let prefix = name_starts_with.unwrap_or_default();
        operations::people(app(context), &prefix, paging(context)?).await?
    },
}

mutations! {
    /// Mutation fields.
    pub struct PeopleMutation;

    /// Creates a person.
    create_person(CreatePersonInput) -> CreatePersonResult by merchant;

    /// Changes the name of a person, also in the products that the person contributed to.
    rename_person(RenamePersonInput) -> RenamePersonResult by merchant;

    /// Sets or removes the postal address of a person.
    set_person_address(SetPersonAddressInput) -> SetPersonAddressResult by merchant;
}
