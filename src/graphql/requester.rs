//! The requester: subject, name and roles of the bearer token, and the guard of fields.

use async_graphql::{Context, Guard};

use super::{input::text, shares::Client};
use crate::error::Error;

/// Declares the roles, each with its name in a token.
macro_rules! roles {
    ($($(#[doc = $about:literal])+ $role:ident = $name:literal,)+) => {
        /// Roles that a token can carry.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Role {
            $($(#[doc = $about])+ $role,)+
        }

        impl Role {
            /// All roles.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$role),+];

            /// Name of the role in a token.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$role => $name,)+
                }
            }
        }
    };
}

roles! {
    /// Edits content and assets.
    Editor = "editor",
    /// Runs the shop: products, categories, people, stock, orders.
    Merchant = "merchant",
    /// Buys advertising.
    Advertiser = "advertiser",
    /// Shows advertising.
    Publisher = "publisher",
    /// Moderates comments.
    Moderator = "moderator",
    /// Plays the game.
    Player = "player",
    /// Runs the game: places, items and attributes.
    Master = "master",
    /// Reads reports.
    Analyst = "analyst",
    /// Another service of the operator, which makes deposits and withdrawals.
    Service = "service",
    /// Adds jobs to the work queue.
    Producer = "producer",
    /// Claims and completes jobs of the work queue.
    Worker = "worker",
    /// Looks after the work queue: its numbers and its dead letters.
    Operator = "operator",
    /// Has every role.
    Admin = "admin",
}

impl Role {
    /// The role with this name. Unknown roles of a token are ignored.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// The caller of an operation.
#[derive(Debug, Clone, Default)]
pub struct Requester {
    /// Subject of the token; `None` for an anonymous caller.
    pub subject: Option<String>,
    /// Display name of the caller, if the token has one.
    pub name: Option<String>,
    /// Roles of the token.
    pub roles: Vec<Role>,
    /// The client of the call, whose share it uses; `None` if it didn't come over the network.
    pub client: Option<Client>,
}

/// Maximum number of characters of a display name.
const LONGEST_NAME: usize = 200;

impl Requester {
    /// The caller with the claims of a token. A display name that can't be shown is ignored.
    pub fn new(subject: &str, name: Option<&str>, roles: Vec<Role>) -> Self {
        let name = name.and_then(|name| text("name", name, 1..=LONGEST_NAME).ok());
        Self { subject: Some(subject.to_owned()), name, roles, client: None }
    }

    /// Whether the caller has the role. An admin has every role.
    pub fn has(&self, role: Role) -> bool {
        self.roles.contains(&role) || self.roles.contains(&Role::Admin)
    }

    /// Names of the caller's roles. An admin has every role.
    pub fn role_names(&self) -> Vec<&'static str> {
        Role::ALL.into_iter().filter(|role| self.has(*role)).map(Role::name).collect()
    }

    /// The subject of the token.
    ///
    /// # Errors
    /// `Unauthenticated` for an anonymous caller.
    pub fn subject(&self) -> Result<&str, Error> {
        self.subject.as_deref().ok_or(Error::Unauthenticated)
    }

    /// Whether the caller has this subject.
    pub fn is(&self, subject: &str) -> bool {
        self.subject.as_deref() == Some(subject)
    }
}

/// Guard of a field: `#[graphql(guard = "Who::Role(Role::Merchant)")]`. The last line of the field's
/// description repeats it as `Who: …`, and so does the role table of `docs/ROLES.md`.
#[derive(Debug, Clone, Copy)]
pub enum Who {
    /// Everyone with a valid token.
    SignedIn,
    /// Everyone with this role, and admins.
    Role(Role),
    /// Everyone with one of these roles, and admins.
    Either(Role, Role),
}

impl Who {
    /// # Errors
    /// `Unauthenticated` without a token, `Forbidden` without the role.
    pub fn check_requester(self, requester: &Requester) -> Result<(), Error> {
        requester.subject()?;
        match self {
            Self::Role(role) if !requester.has(role) => Err(Error::Forbidden(role.name())),
            Self::Either(one, other) if !requester.has(one) && !requester.has(other) => {
                Err(Error::Forbidden(one.name()))
            }
            _ => Ok(()),
        }
    }
}

/// What a field says of its callers (`text`), and the guard that enforces it; [`mutations!`](super::mutations) and
/// [`queries!`](super::fields) declare both by one word.
macro_rules! who {
    (text signed_in) => { "Who: signed in." };
    (text editor_or_merchant) => { "Who: editor or merchant." };
    (text service_or_operator) => { "Who: service or operator." };
    (text $role:ident) => { concat!("Who: ", stringify!($role), ".") };
    (guard signed_in) => { $crate::graphql::requester::Who::SignedIn };
    (guard editor) => { $crate::graphql::requester::who!(role Editor) };
    (guard merchant) => { $crate::graphql::requester::who!(role Merchant) };
    (guard admin) => { $crate::graphql::requester::who!(role Admin) };
    (guard editor_or_merchant) => { $crate::graphql::requester::who!(either Editor, Merchant) };
    (guard service_or_operator) => { $crate::graphql::requester::who!(either Service, Operator) };
    (guard advertiser) => { $crate::graphql::requester::who!(role Advertiser) };
    (guard publisher) => { $crate::graphql::requester::who!(role Publisher) };
    (guard player) => { $crate::graphql::requester::who!(role Player) };
    (guard master) => { $crate::graphql::requester::who!(role Master) };
    (guard service) => { $crate::graphql::requester::who!(role Service) };
    (guard analyst) => { $crate::graphql::requester::who!(role Analyst) };
    (guard producer) => { $crate::graphql::requester::who!(role Producer) };
    (guard worker) => { $crate::graphql::requester::who!(role Worker) };
    (guard operator) => { $crate::graphql::requester::who!(role Operator) };
    (role $role:ident) => {
        $crate::graphql::requester::Who::Role($crate::graphql::requester::Role::$role)
    };
    (either $one:ident, $other:ident) => {
        $crate::graphql::requester::Who::Either(
            $crate::graphql::requester::Role::$one,
            $crate::graphql::requester::Role::$other,
        )
    };
}

pub(crate) use who;

impl Guard for Who {
    async fn check(&self, context: &Context<'_>) -> async_graphql::Result<()> {
        Ok(self.check_requester(super::requester(context))?)
    }
}
