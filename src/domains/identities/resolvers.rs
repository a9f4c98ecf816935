//! Translates between GraphQL and the operations of identities.

use async_graphql::{Context, ID, Object, Result, connection::Connection};

use super::{
    operations,
    types::{
        ChangeIdentityInput, ChangeIdentityResult, ClaimIdentityInput, ClaimIdentityResult,
        Identity, IdentityInput, ProveIdentityInput, ProveIdentityResult, ReleaseIdentityInput,
        ReleaseIdentityResult, UserReference,
    },
};
use crate::graphql::{
    app,
    refusals::answer,
    requester,
    requester::{Role, Who},
};

/// Reads.
#[derive(Default)]
pub struct IdentitiesQuery;

#[Object]
impl IdentitiesQuery {
    /// The user who has a name; null where nobody has it. Services and admins find everyone, others only
    /// themselves.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn user_by(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "The name.")] identity: IdentityInput,
    ) -> Result<Option<UserReference>> {
        let found = operations::user_by(app(context), requester(context), &identity).await?;
        Ok(found.map(|user| UserReference { id: ID(user) }))
    }

    /// The names by which you can be found; for services and admins, also those of others.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn identities(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Subject of the user; you when left out.")] user_id: Option<ID>,
        #[graphql(desc = "How many, 1 to 100; 20 when left out.")] first: Option<i32>,
        #[graphql(desc = "Cursor behind which the page begins.")] after: Option<String>,
    ) -> Result<Connection<String, Identity>> {
        let (app, requester, after) = (app(context), requester(context), after.as_deref());
        let found = operations::identities_of(app, requester, user_id.as_ref(), first, after);
        Ok(found.await?)
    }
}

/// Writes.
#[derive(Default)]
pub struct IdentitiesMutation;

#[Object]
impl IdentitiesMutation {
    /// Signs that a user has shown a name to be theirs (by a letter that was sent there, or a call). The
    /// user then claims it with the proof within an hour.
    ///
    /// Who: service.
    #[graphql(guard = "Who::Role(Role::Service)")]
    async fn prove_identity(
        &self,
        context: &Context<'_>,
        input: ProveIdentityInput,
    ) -> Result<ProveIdentityResult> {
        Ok(answer(operations::prove(app(context), &input).await)?)
    }

    /// Takes a name by which you are to be found. Without a proof it isn't told whether anyone has it.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn claim_identity(
        &self,
        context: &Context<'_>,
        input: ClaimIdentityInput,
    ) -> Result<ClaimIdentityResult> {
        Ok(answer(operations::claim(app(context), requester(context), &input).await)?)
    }

    /// Lets go of a name of yours; anyone may claim it then.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn release_identity(
        &self,
        context: &Context<'_>,
        input: ReleaseIdentityInput,
    ) -> Result<ReleaseIdentityResult> {
        Ok(answer(operations::release(app(context), requester(context), &input).await)?)
    }

    /// Takes a name in the place of one that you have: you have one of them at any time.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn change_identity(
        &self,
        context: &Context<'_>,
        input: ChangeIdentityInput,
    ) -> Result<ChangeIdentityResult> {
        Ok(answer(operations::change(app(context), requester(context), &input).await)?)
    }
}
