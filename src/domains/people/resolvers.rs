//! Resolvers: they translate between GraphQL and the operations of people.

use async_graphql::{Context, ID, Object, Result, connection::Connection};

use super::operations;
use crate::{
    engine::caching::cache_control,
    graphql::{
        app,
        declared::mutations,
        page::paging,
        requester::{Role, Who},
    },
};

/// Query fields.
#[derive(Default)]
pub struct PeopleQuery;

#[Object]
impl PeopleQuery {
    /// A person by global id. Null if there is none.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(300))]
    async fn person(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global id of the person.")] id: ID,
    ) -> Result<Option<Person>> {
        Ok(operations::person(app(context), &id).await?.map(Person))
    }

    /// People, sorted by name.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(300))]
    async fn people(
        &self,
        context: &Context<'_>,
        #[graphql(
            desc = "Beginning of the name; upper and lower case are treated as equal. Default: all people."
        )]
        name_starts_with: Option<String>,
    ) -> Result<Connection<String, Person>> {
        let prefix = name_starts_with.unwrap_or_default();
        Ok(operations::people(app(context), &prefix, paging(context)?).await?)
    }
}

mutations! {
    /// Mutation fields.
    pub struct PeopleMutation;

    /// Creates a person.
    ///
    /// Who: merchant.
    create_person(CreatePersonInput) -> CreatePersonResult for Who::Role(Role::Merchant);

    /// Changes the name of a person, also in the products that the person contributed to.
    ///
    /// Who: merchant.
    rename_person(RenamePersonInput) -> RenamePersonResult for Who::Role(Role::Merchant);

    /// Sets or removes the postal address of a person.
    ///
    /// Who: merchant.
    set_person_address(SetPersonAddressInput) -> SetPersonAddressResult
        for Who::Role(Role::Merchant);
}
