//! Stored documents of identities.

use async_graphql::Enum;

use crate::{graphql::author, mongo::prelude::*};

document! {
    /// One name and its holder.
    pub struct IdentityDocument {
        /// Kind and value, see [`Name::key`]: each name exists once.
        pub key as "_id": String,
        pub name: Name,
        /// Subject of the current or last holder.
        pub user_id: String,
        /// Server time at which the user got it.
        pub since: DateTime,
        /// Set while a change that has reserved it isn't finished.
        pub pending?: Pending,
        /// Key of the name that it replaced.
        pub instead_of?: String,
        /// Set when it was released: it can be claimed, and the document is removed later.
        pub released_at?: DateTime,
        /// Key of the name that replaced it, if one did.
        pub moved_to?: String,
        pub v: Version<1>,
    } in "identities" {
        plain("user", "userId _id", "the names of a user"),
        of_field("pending", "pending.at", "the sweep of changes that were cut"),
        of_field("released", "releasedAt", "the sweep of names that were let go"),
    }

    /// A name in its normal form.
    #[derive(PartialEq, Eq)]
    pub struct Name {
        pub kind: Kind,
        /// The name; for OpenID Connect the issuer, a `#`, and the subject.
        pub value: String,
    }
}

/// What a name is. Names of different kinds never conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Enum)]
#[serde(rename_all = "lowercase")]
#[graphql(name = "IdentityKind")]
pub enum Kind {
    /// Email address.
    Email,
    /// Username on this site.
    Username,
    /// Telephone number.
    Phone,
    /// Subject at an OpenID Connect provider.
    Oidc,
}

document! {
    /// The mark of an unfinished change. Two changes of a user from one name to another differ in `since`: a user
    /// who released a name and claimed it again has it since later.
    #[derive(PartialEq)]
    pub struct Pending {
        /// Key of the name that is to be replaced.
        pub instead_of: String,
        /// Server time at which the user got that name.
        pub since: DateTime,
        /// Set if the user already had the new name, which can't be released meanwhile.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub kept: bool,
        /// Server time of the last attempt that reserved it.
        pub at: DateTime,
    }
}

impl Name {
    /// Its `_id`. It is a string because reads by key share commands by strings.
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
    /// A name that the user gets at `now`, or that is reserved for the change of an `old` name.
    pub(super) fn new(name: Name, user: &str, old: Option<&Self>, now: DateTime) -> Self {
        let pending = old.map(|old| Pending {
            instead_of: old.key.clone(),
            since: old.since,
            kept: false,
            at: now,
        });
        Self {
            key: name.key(),
            name,
            user_id: user.to_owned(),
            since: now,
            pending,
            instead_of: None,
            released_at: None,
            moved_to: None,
            v: Version,
        }
    }

    /// Whether the user has the name.
    pub(super) fn is_held(&self) -> bool {
        self.released_at.is_none() && self.pending.as_ref().is_none_or(|pending| pending.kept)
    }

    /// Whether the user is found by it. That includes a released name until the new one is there.
    pub(super) fn is_known(&self) -> bool {
        self.is_held() || self.moved_to.is_some()
    }
}

document! {
    /// The author of a text or file, as other rooms store it.
    #[derive(PartialEq, Eq)]
    pub struct Author {
        /// Subject of the token.
        pub id: String,
        /// The name that readers see.
        pub name: String,
    }
}

impl From<&Author> for author::Author {
    fn from(Author { id, name }: &Author) -> Self {
        Self::new(id, Some(name))
    }
}
