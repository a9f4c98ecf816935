//! The one error type: what a caller may be told and what only the log may know.
//!
//! Expected refusals (a cart that isn't active, stock that is short) are *values*, see
//! `graphql::refusals`. This type is for what a caller couldn't foresee, and every variant has a
//! stable code. Text of the inner error is logged and never sent.

use std::borrow::Cow;

/// Why an operation couldn't be carried out at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The field needs a signed-in caller and the request carried no token.
    #[error("sign in to use this field")]
    Unauthenticated,
    /// The request carried a token that doesn't hold.
    #[error(
        "the token doesn't hold: it has expired, isn't valid yet, or isn't one of this gateway's"
    )]
    BadToken,
    /// The request carried a token that can't be checked: the keys of its issuer can't be had.
    #[error("the token can't be checked at the moment; try again")]
    KeysUnavailable,
    /// The caller is known and lacks the role that the field asks for.
    #[error("this field asks for the role {0}")]
    Forbidden(&'static str),
    /// An argument can't be used; `field` is the path of the argument as the client wrote it.
    #[error("{field}: {reason}")]
    BadInput {
        /// Path of the offending argument, such as `by.category.path`.
        field: Cow<'static, str>,
        /// What is wrong with it, in words that are safe to show.
        reason: Cow<'static, str>,
    },
    /// The caller has to slow down; nothing was written.
    #[error("{0}")]
    RateLimited(&'static str),
    /// The text asks for more than one request may.
    #[error("the operation {reason}")]
    TooComplex {
        /// The configuration key of the limit, such as `max_depth`.
        limit: &'static str,
        /// What is too much, such as "is nested more than 25 levels deep".
        reason: String,
    },
    /// A read wasn't done in the time that a request has.
    #[error("the request took longer than it may")]
    Timeout(#[source] Source),
    /// The text of a persisted query isn't known here: send it along with its hash.
    #[error("PersistedQueryNotFound")]
    PersistedQueryNotFound,
    /// Only documents that the operator trusts are executed.
    #[error("only trusted documents are executed here")]
    UntrustedDocument,
    /// More is under way than the gateway takes on; nothing was begun.
    #[error("too many requests are under way: come again in a moment")]
    Overloaded,
    /// MongoDB didn't answer a read on which no write depends.
    #[error("it couldn't be read at the moment; try again")]
    Unread(#[source] Source),
    /// MongoDB or a payment provider didn't answer, or not for certain. The write may have been
    /// applied or may yet be: repeating it with the same op id is safe.
    #[error("the outcome is not known; repeating with the same op id is safe")]
    Unavailable(#[source] Source),
    /// As `Unavailable`, of what is added to counts: nothing tells whether it was added.
    #[error("it is not known whether this was counted; sent again it may be counted twice")]
    Uncounted(#[source] Source),
    /// Everything else: a defect of ours or of the set-up.
    #[error("internal error")]
    Internal(#[source] Source),
}

/// The inner error, kept for the log.
pub type Source = Box<dyn std::error::Error + Send + Sync>;

impl Error {
    /// A fault of an argument, with the path of the argument.
    pub fn bad_input(
        field: impl Into<Cow<'static, str>>,
        reason: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::BadInput { field: field.into(), reason: reason.into() }
    }

    /// A defect: something that can't happen did.
    pub fn internal(what: impl Into<Source>) -> Self {
        Self::Internal(what.into())
    }

    /// An outcome that isn't known.
    pub fn unavailable(what: impl Into<Source>) -> Self {
        Self::Unavailable(what.into())
    }

    /// The stable code that clients see in `extensions.code`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unauthenticated | Self::BadToken => "UNAUTHENTICATED",
            Self::Forbidden(_) => "FORBIDDEN",
            Self::BadInput { .. } => "BAD_USER_INPUT",
            Self::RateLimited(_) => "RATE_LIMITED",
            Self::TooComplex { .. } => "QUERY_TOO_COMPLEX",
            Self::Timeout(_) => "TIMEOUT",
            Self::PersistedQueryNotFound => "PERSISTED_QUERY_NOT_FOUND",
            Self::UntrustedDocument => "UNTRUSTED_DOCUMENT",
            Self::KeysUnavailable
            | Self::Overloaded
            | Self::Unread(_)
            | Self::Unavailable(_)
            | Self::Uncounted(_) => "UNAVAILABLE",
            Self::Internal(_) => "INTERNAL_SERVER_ERROR",
        }
    }

    /// Whether repeating the same request can help.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Unavailable(_)
                | Self::Unread(_)
                | Self::RateLimited(_)
                | Self::Timeout(_)
                | Self::Overloaded
                | Self::KeysUnavailable
        )
    }

    /// The same trouble, of a read on which no write depends: there is no outcome to be unsure of.
    #[must_use]
    pub fn unread(self) -> Self {
        match self {
            Self::Unavailable(source) => Self::Unread(source),
            error => error,
        }
    }

    /// The same trouble, of a write: before a read that failed something may have been written, so that the
    /// outcome isn't known.
    #[must_use]
    pub fn in_doubt(self) -> Self {
        match self {
            Self::Timeout(source) | Self::Unread(source) => Self::Unavailable(source),
            error => error,
        }
    }

    /// What a read answers with. One that the server gave up for its time limit, or that it wasn't there to
    /// answer, changed nothing.
    pub fn of_read(error: mongodb::error::Error) -> Self {
        const MAX_TIME_EXPIRED: i32 = 50;
        match error.kind.as_ref() {
            mongodb::error::ErrorKind::Command(command) if command.code == MAX_TIME_EXPIRED => {
                Self::Timeout(error.into())
            }
            _ => Self::from(error).unread(),
        }
    }
}

impl From<mongodb::error::Error> for Error {
    /// The one place where a driver error becomes ours; its text goes no further than the log.
    fn from(error: mongodb::error::Error) -> Self {
        use mongodb::error::{ErrorKind, WriteFailure};
        /// Server codes that mean "not now": shutdown, stepdown, no primary, time limits.
        const TRANSIENT: [i32; 15] =
            [6, 7, 50, 89, 91, 189, 202, 262, 9001, 10_107, 11_600, 11_602, 13_435, 13_436, 64];
        let transient = match error.kind.as_ref() {
            ErrorKind::Io(_)
            | ErrorKind::ServerSelection { .. }
            | ErrorKind::ConnectionPoolCleared { .. }
            | ErrorKind::Authentication { .. }
            | ErrorKind::DnsResolve { .. }
            | ErrorKind::Write(WriteFailure::WriteConcernError(_)) => true,
            ErrorKind::Command(command) => TRANSIENT.contains(&command.code),
            ErrorKind::InsertMany(insert) => insert.write_concern_error.is_some(),
            _ => error.contains_label("RetryableWriteError"),
        };
        if transient { Self::unavailable(error) } else { Self::internal(error) }
    }
}
