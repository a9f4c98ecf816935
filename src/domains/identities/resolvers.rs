//! Resolvers: they translate between GraphQL and the operations of identities.

use async_graphql::{Context, ID, Object, Result, connection::Connection};

use super::operations;
use crate::graphql::{
    cx::cx,
    declared::mutations,
    page::paging,
    requester::{Role, Who},
};

/// Query fields.
#[derive(Default)]
pub struct IdentitiesQuery;

#[Object]
impl IdentitiesQuery {
    /// User who has a name. Null if nobody has it, or if the user isn't visible to the caller. Services and
    /// admins see all users, other callers only themselves.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn user_by(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Name that the user has.")] identity: IdentityInput,
    ) -> Result<Option<UserReference>> {
        let found = operations::user_by(cx(context), identity).await?;
        Ok(found.map(|user| UserReference { id: ID(user) }))
    }

    /// Names by which a user can be found. Services and admins can list the names of all users, other callers
    /// only their own.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn identities(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Subject of the user's tokens. Default: the caller.")] user_id: Option<ID>,
    ) -> Result<Connection<String, Identity>> {
        let user = user_id.as_ref();
        Ok(operations::identities(cx(context), user, paging(context)?).await?)
    }
}

mutations! {
    /// Mutation fields.
    pub struct IdentitiesMutation;

    /// Issues a proof that a name belongs to a user. The service must have verified this before, for example
    /// by a message to the address. The user claims the name with the proof within an hour.
    ///
    /// Who: service.
    prove_identity(ProveIdentityInput) -> ProveIdentityResult
        for Who::Role(Role::Service);

    /// Claims a name for the caller. Without a valid proof the answer doesn't tell whether anyone has the
    /// name. Repeatable: claiming a name that the user has returns it.
    ///
    /// Who: signed in.
    claim_identity(ClaimIdentityInput) -> ClaimIdentityResult
        for Who::SignedIn;

    /// Releases a name of the caller. Anyone can claim it afterwards.
    ///
    /// Who: signed in.
    release_identity(ReleaseIdentityInput) -> ReleaseIdentityResult
        for Who::SignedIn;

    /// Replaces a name of the caller by another one. Either both changes happen or neither: the user has
    /// exactly one of the two names at any time. Repeatable: the same call returns the new name.
    ///
    /// Who: signed in.
    change_identity(ChangeIdentityInput) -> ChangeIdentityResult
        for Who::SignedIn;
}
