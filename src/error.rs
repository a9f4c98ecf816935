//! The error type. Its own text may be sent to clients; the text of the inner error is only logged.
//!
//! Expected refusals, such as those of an inactive cart or of insufficient stock, are *values*; see
//! `graphql::refusals`. This type is for failures that end a field, such as missing rights, invalid arguments and
//! unknown outcomes. Every variant has a stable code.

use std::borrow::Cow;

/// A value, or the failure of the operation that was to return it.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The failure of an operation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The field requires a signed-in caller, and the request carried no token.
    #[error("sign in to do this")]
    Unauthenticated,
    /// The header `Authorization` carried something other than a bearer token.
    #[error("the header Authorization must be `Bearer`, a space and a token")]
    NotBearer,
    /// The request carried an invalid token.
    #[error(
        "the token is invalid: it has expired, isn't valid yet, or wasn't issued for this gateway"
    )]
    BadToken,
    /// The request carried something that isn't a token.
    #[error("the token isn't a JWT: three parts in base64url with dots between them are expected")]
    MalformedToken,
    /// The request carried a token that can't be checked, because the keys of its issuer aren't available.
    #[error("the token can't be checked at the moment; try again")]
    KeysUnavailable,
    /// The caller is known, but lacks the role that the field requires.
    #[error("this requires the role {0}")]
    Forbidden(&'static str),
    /// An argument is invalid. `field` is the path of the argument as the client wrote it.
    #[error("{field}: {reason}")]
    BadInput {
        /// Path of the invalid argument, such as `by.category.path`.
        field: Cow<'static, str>,
        /// The reason, in words that are safe to show.
        reason: Cow<'static, str>,
    },
    /// What an argument of a subscription names doesn't exist, or isn't visible to the caller. Contains the message.
    #[error("{0}")]
    NotFound(String),
    /// The caller exceeded a rate or a limit; nothing was written. Contains the message.
    #[error("{0}")]
    RateLimited(Cow<'static, str>),
    /// The document exceeds a limit of one request.
    #[error("the operation {reason}")]
    TooComplex {
        /// The name of the limit, such as the configuration key `max_depth`.
        limit: &'static str,
        /// The violation, such as "is nested more than 25 levels deep".
        reason: String,
    },
    /// A read exceeded the time limit of a request.
    #[error("the request exceeded its time limit")]
    Timeout(#[source] Source),
    /// The document of a persisted query isn't known here. The client has to send it along with its hash.
    #[error("PersistedQueryNotFound")]
    PersistedQueryNotFound,
    /// The document isn't trusted, and only trusted documents are executed.
    #[error("this gateway executes only trusted documents, which its operator has registered")]
    UntrustedDocument,
    /// The gateway is at a limit of concurrent work, or of the memory for it; nothing was written.
    #[error("the gateway is at a limit of concurrent work; try again in a moment")]
    Overloaded,
    /// MongoDB didn't answer a read on which no write depends.
    #[error("the data couldn't be read at the moment; try again")]
    Unread(#[source] Source),
    /// MongoDB or a payment provider gave no answer, or no definite one. The write may have been applied, or
    /// may still be. With an idempotency key it can be repeated under the same key.
    #[error(
        "the gateway doesn't know whether the change was made; repeat the call with the same idempotencyKey, or, if it \
         had none, read the object first"
    )]
    Unavailable(#[source] Source),
    /// Like `Unavailable`, for hits, views and impressions, whose additions to counts aren't idempotent.
    #[error("the gateway doesn't know whether this was counted; a repeat may count it twice")]
    Uncounted(#[source] Source),
    /// A field of a mutation's result was refused at a limit. The mutation was executed.
    #[error(
        "the call was executed, but this part of its result can't be read at the moment; read the object, or repeat \
         the call with the same idempotencyKey"
    )]
    Unshown,
    /// A document was stored by a newer docgate, in a version of its shape that this one doesn't know. It wasn't changed.
    #[error("the data was stored by a newer docgate; this gateway has to be updated")]
    NewerVersion(#[source] Source),
    /// Any other failure: a defect of the program or of its set-up.
    #[error("internal error")]
    Internal(#[source] Source),
}

/// The inner error, kept for the log.
pub type Source = Box<dyn std::error::Error + Send + Sync>;

impl Error {
    /// An invalid argument, with its path.
    pub fn bad_input(
        field: impl Into<Cow<'static, str>>,
        reason: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::BadInput { field: field.into(), reason: reason.into() }
    }

    /// A defect of the program or of its set-up.
    pub fn internal(what: impl Into<Source>) -> Self {
        Self::Internal(what.into())
    }

    /// A rate or limit that the caller exceeded, with the message for the client: which limit, and when to try again.
    pub fn rate_limited(message: impl Into<Cow<'static, str>>) -> Self {
        Self::RateLimited(message.into())
    }

    /// Too much for now: it is refused for this many milliseconds. The message is `reason` and that time.
    pub fn rate_limited_for(reason: &str, millis: i64) -> Self {
        let again = match millis.saturating_add(999) / 1_000 {
            ..=1 => "in a second".to_owned(),
            seconds @ 2..=90 => format!("in {seconds} seconds"),
            seconds => format!("in {} minutes", (seconds + 59) / 60),
        };
        Self::rate_limited(format!("{reason}; try again {again}"))
    }

    /// An unknown outcome.
    pub fn unavailable(what: impl Into<Source>) -> Self {
        Self::Unavailable(what.into())
    }

    /// The stable code that clients see in `extensions.code`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unauthenticated | Self::NotBearer | Self::BadToken | Self::MalformedToken => {
                "UNAUTHENTICATED"
            }
            Self::Forbidden(_) => "FORBIDDEN",
            Self::BadInput { .. } => "BAD_USER_INPUT",
            Self::NotFound(_) => "NOT_FOUND",
            Self::RateLimited(_) => "RATE_LIMITED",
            Self::TooComplex { .. } => "QUERY_TOO_COMPLEX",
            Self::Timeout(_) => "TIMEOUT",
            Self::PersistedQueryNotFound => "PERSISTED_QUERY_NOT_FOUND",
            Self::UntrustedDocument => "UNTRUSTED_DOCUMENT",
            Self::KeysUnavailable
            | Self::Overloaded
            | Self::Unread(_)
            | Self::Unavailable(_)
            | Self::Uncounted(_)
            | Self::Unshown => "UNAVAILABLE",
            Self::NewerVersion(_) => "NEWER_VERSION",
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
                | Self::Unshown
        )
    }

    /// The same error for a read on which no write depends. Its outcome isn't in question.
    #[must_use]
    pub fn for_read(self) -> Self {
        match self {
            Self::Unavailable(source) => Self::Unread(source),
            error => error,
        }
    }

    /// The same error for a mutation: it may have written before the read that failed, so that the outcome is
    /// unknown.
    #[must_use]
    pub fn for_mutation(self) -> Self {
        match self {
            Self::Timeout(source) | Self::Unread(source) => Self::Unavailable(source),
            error => error,
        }
    }

    /// The same error for another caller of what has failed for several.
    #[must_use]
    pub fn for_another(&self) -> Self {
        match self {
            Self::Internal(source) => Self::internal(source.to_string()),
            Self::NewerVersion(source) => Self::NewerVersion(source.to_string().into()),
            Self::RateLimited(reason) => Self::RateLimited(reason.clone()),
            error => Self::unavailable(error.to_string()),
        }
    }

    /// Converts the driver's error for a read. A read that exceeded its time limit, or got no answer, changed
    /// nothing.
    pub fn of_read(error: mongodb::error::Error) -> Self {
        const MAX_TIME_EXPIRED: i32 = 50;
        match error.kind.as_ref() {
            mongodb::error::ErrorKind::Command(command) if command.code == MAX_TIME_EXPIRED => {
                Self::Timeout(error.into())
            }
            _ => Self::from(error).for_read(),
        }
    }
}

impl From<mongodb::error::Error> for Error {
    /// The only conversion of driver errors. Their text is logged and never sent.
    fn from(error: mongodb::error::Error) -> Self {
        use mongodb::error::{ErrorKind, WriteFailure};
        /// The server's error codes for transient conditions: shutdown, stepdown, no primary, time limits, and that somebody
        /// has killed the operation. Of a command with several writes, some may have been applied by then.
        const TRANSIENT: [i32; 16] = [
            6, 7, 50, 64, 89, 91, 189, 202, 262, 9001, 10_107, 11_600, 11_601, 11_602, 13_435,
            13_436,
        ];
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
