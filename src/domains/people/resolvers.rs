//! Resolvers: they translate between GraphQL and the operations of people.

use async_graphql::{Context, ID, Object, Result, connection::Connection};

use super::{
    operations,
    types::{
        CreatePersonInput, CreatePersonResult, Person, RenamePersonInput, RenamePersonResult,
        SetPersonAddressInput, SetPersonAddressResult,
    },
};
use crate::{
    engine::caching::cache_control,
    graphql::{
        app,
        cx::cx,
        refusals::answer,
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
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "`endCursor` of the previous page. Default: the first page.")]
        after: Option<String>,
    ) -> Result<Connection<String, Person>> {
        let prefix = name_starts_with.unwrap_or_default();
        let (page, found) =
            operations::people(app(context), &prefix, first, after.as_deref()).await?;
        Ok(page.connection(found, operations::position, Person))
    }
}

/// Mutation fields.
#[derive(Default)]
pub struct PeopleMutation;

#[Object]
impl PeopleMutation {
    /// Creates a person.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn create_person(
        &self,
        context: &Context<'_>,
        input: CreatePersonInput,
    ) -> Result<CreatePersonResult> {
        answer(operations::create_person(cx(context), input).await)
    }

    /// Changes the name of a person, also in the products that the person contributed to.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn rename_person(
        &self,
        context: &Context<'_>,
        input: RenamePersonInput,
    ) -> Result<RenamePersonResult> {
        answer(operations::rename_person(cx(context), input).await)
    }

    /// Sets or removes the postal address of a person.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn set_person_address(
        &self,
        context: &Context<'_>,
        input: SetPersonAddressInput,
    ) -> Result<SetPersonAddressResult> {
        answer(operations::set_person_address(cx(context), input).await)
    }
}
