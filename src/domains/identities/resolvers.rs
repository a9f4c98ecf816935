//! Resolvers: they translate between GraphQL and the operations of identities.

use super::operations;
use crate::graphql::prelude::*;

queries! {
    /// Query fields.
    pub struct IdentitiesQuery;

    /// User who has a name. Null if nobody has it, or if the user isn't visible to the caller. Services and
    /// admins see all users, other callers only themselves.
    user_by(
        context,
        #[graphql(desc = "Name that the user has.")] identity: IdentityInput,
    ) by signed_in: Option<UserReference> =
        operations::user_by(cx(context), identity).await?.map(|user| UserReference { id: ID(user) }),

    /// Names by which a user can be found. Services and admins can list the names of all users, other callers
    /// only their own.
    identities(
        context,
        #[graphql(desc = "Subject of the user's tokens. Default: the caller.")] user_id: Option<ID>,
    ) by signed_in: Connection<Identity> =
        operations::identities(cx(context), user_id.as_ref(), paging(context)?).await?,
}

mutations! {
    /// Mutation fields.
    pub struct IdentitiesMutation;

    /// Issues a proof that a name belongs to a user. The service must have verified this before, for example
    /// by a message to the address. The user claims the name with the proof within an hour.
    prove_identity(ProveIdentityInput) -> ProveIdentityResult by service;

    /// Claims a name for the caller. Without a valid proof the answer doesn't tell whether anyone has the
    /// name. Repeatable: claiming a name that the user has returns it.
    claim_identity(ClaimIdentityInput) -> ClaimIdentityResult by signed_in;

    /// Releases a name of the caller. Anyone can claim it afterwards.
    release_identity(ReleaseIdentityInput) -> ReleaseIdentityResult by signed_in;

    /// Replaces a name of the caller by another one. Either both changes happen or neither: the user has
    /// exactly one of the two names at any time. Repeatable: the same call returns the new name.
    change_identity(ChangeIdentityInput) -> ChangeIdentityResult by signed_in;
}
