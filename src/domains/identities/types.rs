//! What clients see of identities.

use async_graphql::{Enum, ID, InputObject, OneofObject, SimpleObject, Union};

use super::documents::{self, IdentityDocument};
use crate::graphql::{
    refusals::{AlreadyExists, ErrorCode, InvalidInput, NotFound, Refusal},
    scalars::DateTime,
};

/// The kinds of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "documents::Kind")]
pub enum IdentityKind {
    /// An e-mail address.
    Email,
    /// A username of this site.
    Username,
    /// A telephone number.
    Phone,
    /// Who somebody is to a provider of OpenID Connect.
    Oidc,
}

/// A name by which a user can be found, with the user.
#[derive(Debug, SimpleObject)]
pub struct Identity {
    /// What kind of name.
    pub kind: IdentityKind,
    /// The name as it is compared: addresses and usernames in lower case, numbers as `+` and digits, of
    /// OpenID Connect the issuer and, behind a `#`, the subject.
    pub value: String,
    /// The user: the subject of that user's tokens.
    pub user_id: ID,
    /// Since when the user has it.
    pub since: DateTime,
}

impl From<IdentityDocument> for Identity {
    fn from(document: IdentityDocument) -> Self {
        let IdentityDocument { name, user_id, since, .. } = document;
        Self {
            kind: name.kind.into(),
            value: name.value,
            user_id: ID(user_id),
            since: since.into(),
        }
    }
}

/// A user, as far as identities know one.
#[derive(Debug, SimpleObject)]
pub struct UserReference {
    /// The subject of that user's tokens.
    pub id: ID,
}

/// A proof that a name is a user's, to be handed to that user.
#[derive(Debug, SimpleObject)]
pub struct IdentityProof {
    /// What `claimIdentity` and `changeIdentity` take.
    pub proof: String,
    /// Until when they take it.
    pub expires_at: DateTime,
}

/// A name. Names that differ only in how they are written are the same.
#[derive(Debug, Clone, OneofObject)]
pub enum IdentityInput {
    /// An e-mail address; upper and lower case mean the same.
    Email(String),
    /// A username of 3 to 64 letters and digits, with single `.`, `_` or `-` between them. Its letters are of one
    /// script, or of those that one language writes together. Upper and lower case
    /// mean the same.
    Username(String),
    /// An international telephone number, such as `+49 221 123456`.
    Phone(String),
    /// Who somebody is to a provider of OpenID Connect.
    Oidc(OidcInput),
}

/// Who somebody is to a provider of OpenID Connect.
#[derive(Debug, Clone, InputObject)]
pub struct OidcInput {
    /// The provider's claim `iss`: a URL that begins with `https://`.
    pub issuer: String,
    /// Its claim `sub`.
    pub subject: String,
}

/// A name that was found to be a user's.
#[derive(Debug, InputObject)]
pub struct ProveIdentityInput {
    /// The name.
    pub identity: IdentityInput,
    /// Subject of the user who has shown that it is theirs.
    pub user_id: ID,
}

/// A name to be claimed.
#[derive(Debug, InputObject)]
pub struct ClaimIdentityInput {
    /// The name.
    pub identity: IdentityInput,
    /// That it is yours; services and admins need none.
    pub proof: Option<String>,
    /// For whom, by services and admins; you when left out.
    pub user_id: Option<ID>,
}

/// A name to be let go.
#[derive(Debug, InputObject)]
pub struct ReleaseIdentityInput {
    /// The name.
    pub identity: IdentityInput,
    /// Whose, by services and admins; yours when left out.
    pub user_id: Option<ID>,
}

/// A name to come in the place of another.
#[derive(Debug, InputObject)]
pub struct ChangeIdentityInput {
    /// The name that you have.
    pub from: IdentityInput,
    /// The name that you are to have instead.
    pub to: IdentityInput,
    /// That the new one is yours; services and admins need none.
    pub proof: Option<String>,
    /// Whose, by services and admins; yours when left out.
    pub user_id: Option<ID>,
}

/// What became of a proof.
#[derive(Debug, Union)]
pub enum ProveIdentityResult {
    IdentityProof(IdentityProof),
    InvalidInput(InvalidInput),
}

/// What became of a claim.
#[derive(Debug, Union)]
pub enum ClaimIdentityResult {
    Identity(Identity),
    ProofNeeded(ProofNeeded),
    AlreadyExists(AlreadyExists),
    InvalidInput(InvalidInput),
}

/// What became of a name that was to be let go.
#[derive(Debug, Union)]
pub enum ReleaseIdentityResult {
    ReleasedIdentity(ReleasedIdentity),
    NotFound(NotFound),
    InvalidInput(InvalidInput),
}

/// What became of a change.
#[derive(Debug, Union)]
pub enum ChangeIdentityResult {
    Identity(Identity),
    ProofNeeded(ProofNeeded),
    AlreadyExists(AlreadyExists),
    NotFound(NotFound),
    InvalidInput(InvalidInput),
}

/// A name that the user no longer has.
#[derive(Debug, SimpleObject)]
pub struct ReleasedIdentity {
    /// What kind of name.
    pub kind: IdentityKind,
    /// The name as it was compared.
    pub value: String,
}

impl From<documents::Name> for ReleaseIdentityResult {
    fn from(name: documents::Name) -> Self {
        let (kind, value) = (name.kind.into(), name.value);
        Self::ReleasedIdentity(ReleasedIdentity { kind, value })
    }
}

impl From<IdentityDocument> for ClaimIdentityResult {
    fn from(identity: IdentityDocument) -> Self {
        Self::Identity(identity.into())
    }
}

impl From<IdentityDocument> for ChangeIdentityResult {
    fn from(identity: IdentityDocument) -> Self {
        Self::Identity(identity.into())
    }
}

/// Nothing shows that the name is the user's, or no longer: whether anyone has it isn't told.
#[derive(Debug, Clone, SimpleObject)]
pub struct ProofNeeded {
    /// `PROOF_NEEDED`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
}

impl ProofNeeded {
    /// The same for a proof that is missing and one that doesn't hold.
    pub fn new() -> Self {
        let message = "a proof is needed that the name is yours".into();
        Self { code: ErrorCode::ProofNeeded, message }
    }
}

impl Default for ProofNeeded {
    fn default() -> Self {
        Self::new()
    }
}

impl Refusal for ProofNeeded {}
