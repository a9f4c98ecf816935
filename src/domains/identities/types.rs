//! GraphQL types of identities.

use std::ops::RangeInclusive;

use async_graphql::{OneofObject, SimpleObject};

use super::{
    documents::{IdentityDocument, Kind, Name},
    normal,
};
use crate::{
    domains::social::{self, User},
    graphql::{prelude::*, scalars::DateTime},
};

object! {
    /// A name by which a user can be found. A name belongs to one user.
    pub type Identity = IdentityDocument as identity {
        /// What the name is, such as an email address. It determines how `value` is normalised.
        kind: Kind = identity.name.kind,
        /// Normalised name, as it is compared: email addresses and usernames in lower case, telephone numbers as
        /// `+` and digits. For OpenID Connect it is the issuer, a `#` and the subject.
        value: &str = &identity.name.value,
        /// User who has the name: the subject of the user's tokens.
        user_id: ID = identity.user_id.as_str().into(),
        /// The user with the profile. Null if the user has none.
        user(context)?: Option<User> = profile(cx(context), &identity.user_id).await?,
        /// Time from which the user has the name.
        since: DateTime = identity.since.into(),
    }
}

/// The user to whom a name belongs.
#[derive(Debug)]
pub struct UserReference {
    pub(super) id: ID,
}

object! {
    /// The user to whom a name belongs.
    impl UserReference as user {
        /// Subject of the user's tokens.
        id: &ID = &user.id,
        /// The user with the profile. Null if the user has none.
        user(context)?: Option<User> = profile(cx(context), &user.id).await?,
    }
}

/// The profile of a user.
async fn profile(cx: Cx<'_>, subject: &str) -> Result<Option<User>> {
    Ok(social::operations::user_by_subject(cx, subject).await?.map(User::from))
}

/// Proof that a name belongs to a user. The service that requested it hands it to the user.
#[derive(Debug, SimpleObject)]
pub struct IdentityProof {
    /// Proof for `claimIdentity` or `changeIdentity`.
    pub proof: String,
    /// Time at which the proof expires.
    pub expires_at: DateTime,
}

/// A name. Exactly one field must be set. Names are normalised before they are compared.
#[derive(Debug, Clone, OneofObject, serde::Serialize)]
pub enum IdentityInput {
    /// Email address; upper and lower case are treated as equal.
    Email(String),
    /// Username of 3 to 64 letters and digits, with single `.`, `_` or `-` between them. All letters must be
    /// of one script, or of scripts that one language uses together, and no letter beside Latin ones may look like
    /// an ASCII letter or digit, as a dotless i does. Upper and lower case are treated as equal.
    Username(String),
    /// International telephone number, such as `+49 221 123456`.
    Phone(String),
    /// Subject at an OpenID Connect provider.
    Oidc(OidcInput),
}

input! {
    /// Subject at an OpenID Connect provider.
    pub struct OidcInput {
        /// Claim `iss` of the provider: a URL that begins with `https://`.
        pub issuer: String,
        /// Claim `sub` of the provider.
        pub subject: String,
    }
}

/// Length of the subject of a user, in characters.
pub(super) const SUBJECT: RangeInclusive<usize> = 1..=256;

input! {
    /// Input of `proveIdentity`: the verified name and the user to whom it belongs.
    pub struct ProveIdentityInput {
        /// Name that the user has shown to own.
        pub identity: IdentityInput where normal::new_name,
        /// Subject of the user's tokens.
        pub user_id: ID where verbatim(SUBJECT),
    }

    /// Input of `claimIdentity`: the name, and the proof that it belongs to the user.
    pub struct ClaimIdentityInput {
        /// Name to claim.
        pub identity: IdentityInput where normal::new_name,
        /// Proof from `proveIdentity` that the name belongs to the caller. Services and admins need none.
        pub proof: Option<String>,
        /// Subject of the user who gets the name; only services and admins can name another user. Default: the
        /// caller.
        pub user_id: Option<ID> where optional(verbatim(SUBJECT)),
    }

    /// Input of `releaseIdentity`: the name that the user gives up.
    pub struct ReleaseIdentityInput {
        /// Name to release.
        pub identity: IdentityInput where normal::name,
        /// Subject of the user who has the name; only services and admins can name another user. Default: the
        /// caller.
        pub user_id: Option<ID> where optional(verbatim(SUBJECT)),
    }

    /// Input of `changeIdentity`: the name that the user has and the name that replaces it.
    pub struct ChangeIdentityInput {
        /// Name that the user has.
        pub from: IdentityInput where normal::name,
        /// Name that replaces it. It can't be the same name.
        pub to: IdentityInput where normal::new_name,
        /// Proof from `proveIdentity` that the new name belongs to the caller. Services and admins need none.
        pub proof: Option<String>,
        /// Subject of the user who has the name; only services and admins can name another user. Default: the
        /// caller.
        pub user_id: Option<ID> where optional(verbatim(SUBJECT)),
    }
}

result! {
    /// Result of `proveIdentity`: the proof, or a refusal.
    pub enum ProveIdentityResult:
        IdentityProof | InvalidInput;

    /// Result of `claimIdentity`: the name with its user, or a refusal. `AlreadyExists`: another user has the
    /// name; only returned to a caller with a valid proof, to services and to admins.
    pub enum ClaimIdentityResult:
        IdentityDocument => Identity | ProofNeeded | AlreadyExists | InvalidInput;

    /// Result of `releaseIdentity`: the released name, or a refusal. `NotFound`: the user doesn't have this name.
    pub enum ReleaseIdentityResult:
        Name => ReleasedIdentity | NotFound | InvalidInput;

    /// Result of `changeIdentity`: the new name with its user, or a refusal. `NotFound`: the user doesn't have
    /// the name to replace. `AlreadyExists`: another user has the new name; only returned to a caller with a valid
    /// proof, to services and to admins.
    pub enum ChangeIdentityResult:
        IdentityDocument => Identity | ProofNeeded | AlreadyExists | NotFound | InvalidInput;
}

object! {
    /// Result of a successful `releaseIdentity`.
    pub type ReleasedIdentity = Name as name {
        /// What the released name is, such as an email address.
        kind: Kind = name.kind,
        /// Normalised name.
        value: &str = &name.value,
    }
}

refusal! {
    /// The proof is missing, invalid or expired. A service of the site gets one from `proveIdentity`. The answer doesn't tell whether
    /// anyone has the name.
    struct ProofNeeded as "PROOF_NEEDED" {}
}
