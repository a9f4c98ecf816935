//! What MongoDB sees of identities.

use mongodb::bson::DateTime;
use serde::{Deserialize, Serialize};

use crate::mongo::{
    Stored, Version,
    indexes::{Index, Key, Kind as IndexKind},
};

/// One name and who has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdentityDocument {
    /// Kind and value, see [`Name::key`]: no name is there twice.
    #[serde(rename = "_id")]
    pub key: String,
    /// The name.
    pub name: Name,
    /// Subject of who has it, or had it.
    pub user_id: String,
    /// Server time at which the user got it.
    pub since: DateTime,
    /// Set while it waits for a change to be decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
    /// Key of the name in whose place it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<String>,
    /// Set when it was let go: anyone may claim it, and the document goes later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_at: Option<DateTime>,
    /// Key of the name that came in its place, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
    /// Version of the shape.
    pub v: Version<1>,
}

/// A name, as it is compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    /// What kind of name.
    pub kind: Kind,
    /// The name; of OpenID Connect the issuer and, behind a `#`, the subject.
    pub value: String,
}

/// The kinds of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An e-mail address.
    Email,
    /// A username of this site.
    Username,
    /// A telephone number.
    Phone,
    /// Who somebody is to a provider of OpenID Connect.
    Oidc,
}

/// The mark of a change that isn't finished. Two changes of a user from one name to another differ in
/// `since`: whoever let go of a name and got it again has it since later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pending {
    /// Key of the name in whose place it is to come.
    pub instead_of: String,
    /// Server time at which the user got that name.
    pub since: DateTime,
    /// Set where the user has the new name already, and may not let go of it meanwhile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
    /// Server time of the last run that took it.
    pub at: DateTime,
}

impl Name {
    /// Its `_id`. A string, since reads by key share their commands by it.
    pub fn key(&self) -> String {
        format!("{}:{}", self.kind.name(), self.value)
    }
}

impl Kind {
    /// Its name as it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Username => "username",
            Self::Phone => "phone",
            Self::Oidc => "oidc",
        }
    }
}

impl IdentityDocument {
    /// Whether the user has the name.
    pub(super) fn is_held(&self) -> bool {
        self.released_at.is_none() && self.pending.as_ref().is_none_or(|pending| pending.kept)
    }

    /// Whether the user is found by it: also by one that was let go for another until that one is there.
    pub(super) fn is_known(&self) -> bool {
        self.is_held() || self.moved_to.is_some()
    }
}

impl Stored for IdentityDocument {
    const COLLECTION: &'static str = "identities";
    const INDEXES: &'static [Index] = &[
        Index {
            name: "user",
            keys: &[("userId", Key::Up), ("_id", Key::Up)],
            kind: IndexKind::Plain,
            serves: "the names of a user",
        },
        Index {
            name: "pending",
            keys: &[("pending.at", Key::Up)],
            kind: IndexKind::Where("pending.at"),
            serves: "the sweep of changes that were cut",
        },
        Index {
            name: "released",
            keys: &[("releasedAt", Key::Up)],
            kind: IndexKind::Where("releasedAt"),
            serves: "the sweep of names that were let go",
        },
    ];
}
