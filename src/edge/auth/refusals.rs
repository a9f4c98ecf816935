//! Why tokens are refused. Clients learn little of it; the log tells operators, never with the token.

use std::{
    collections::BTreeMap,
    sync::Mutex,
    time::{Duration, Instant},
};

use jsonwebtoken::errors::ErrorKind;

use crate::{error::Error, locks::lock};

/// Why a token is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// It isn't a JWT.
    Malformed,
    /// Its header names an unknown algorithm, or can't be read.
    Header,
    /// Its `typ` is that of another kind of token.
    Kind,
    /// It has critical extensions.
    Critical,
    /// No key has its algorithm and `kid`.
    NoKey,
    /// The keys that fit haven't signed it.
    Signature,
    /// Its `exp` has passed.
    Expired,
    /// Its `nbf` is in the future.
    NotYetValid,
    /// Its `iss` isn't the configured one.
    Issuer,
    /// Its `aud` isn't the configured one.
    Audience,
    /// It lacks a claim.
    NoSubject,
    /// See `NoSubject`.
    NoExpiry,
    /// See `NoSubject`.
    NoIssuer,
    /// See `NoSubject`.
    NoAudience,
    /// A claim has a value that it can't have.
    Claims,
    /// The request has several cookies with tokens, or one that isn't text.
    Cookies,
}

impl Reason {
    /// The reason behind a fault of the verification.
    pub(super) fn of(fault: &ErrorKind) -> Self {
        match fault {
            ErrorKind::InvalidSignature => Self::Signature,
            ErrorKind::ExpiredSignature => Self::Expired,
            ErrorKind::ImmatureSignature => Self::NotYetValid,
            ErrorKind::InvalidIssuer => Self::Issuer,
            ErrorKind::InvalidAudience => Self::Audience,
            ErrorKind::MissingRequiredClaim(claim) => match claim.as_str() {
                "sub" => Self::NoSubject,
                "exp" => Self::NoExpiry,
                "iss" => Self::NoIssuer,
                "aud" => Self::NoAudience,
                _ => Self::Claims,
            },
            ErrorKind::InvalidToken => Self::Malformed,
            ErrorKind::InvalidAlgorithm | ErrorKind::UnsupportedAlgorithm => Self::NoKey,
            _ => Self::Claims,
        }
    }

    /// The reason in the words of the log.
    fn told(self) -> &'static str {
        match self {
            Self::Malformed => "it isn't a JWT",
            Self::Header => {
                "its header names an algorithm that docgate doesn't know, or can't be read"
            }
            Self::Kind => "its `typ` is neither JWT nor at+jwt",
            Self::Critical => "it has `crit`",
            Self::NoKey => "no key has its algorithm and `kid`",
            Self::Signature => "none of the keys with its algorithm and `kid` has signed it",
            Self::Expired => "its `exp` has passed",
            Self::NotYetValid => "its `nbf` is in the future",
            Self::Issuer => "its `iss` isn't auth_issuer",
            Self::Audience => "its `aud` isn't auth_audience",
            Self::NoSubject => "it has no `sub`",
            Self::NoExpiry => "it has no `exp`",
            Self::NoIssuer => "it has no `iss`, which auth_issuer requires",
            Self::NoAudience => "it has no `aud`, which auth_audience requires",
            Self::Claims => "its claims can't be used: `sub` has 1 to 128 bytes, `exp` is a time",
            Self::Cookies => "several cookies have the name auth_cookie, or one that isn't text",
        }
    }

    /// What the client is told.
    pub(super) fn error(self) -> Error {
        match self {
            Self::Malformed => Error::MalformedToken,
            _ => Error::BadToken,
        }
    }
}

/// Minimum time between two log lines with the same reason.
const PAUSE: Duration = Duration::from_secs(60);

/// The refusals that were logged.
#[derive(Default)]
pub(super) struct Refusals(Mutex<BTreeMap<Reason, Refused>>);

/// The refusals for one reason.
#[derive(Default)]
struct Refused {
    logged: Option<Instant>,
    /// Those since the last line.
    count: u64,
}

impl Refusals {
    /// Logs the reason, unless it was logged a moment ago. Returns what the client is told.
    pub(super) fn refuse(&self, reason: Reason) -> Error {
        if let Some(count) = self.count(reason, Instant::now()) {
            let told = reason.told();
            // A client whose token has just expired gets another one.
            if reason == Reason::Expired {
                tracing::info!(
                    event = "token_refused",
                    reason = told,
                    count,
                    "a token was refused"
                );
            } else {
                tracing::warn!(
                    event = "token_refused",
                    reason = told,
                    count,
                    "a token was refused"
                );
            }
        }
        reason.error()
    }

    /// Number of refusals for the reason that a line tells now, if there is to be one.
    fn count(&self, reason: Reason, now: Instant) -> Option<u64> {
        let mut all = lock(&self.0);
        let refused = all.entry(reason).or_default();
        refused.count += 1;
        if refused.logged.is_some_and(|logged| now.duration_since(logged) < PAUSE) {
            return None;
        }
        refused.logged = Some(now);
        Some(std::mem::take(&mut refused.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_logged_once_a_minute_with_its_count() {
        let (refusals, since) = (Refusals::default(), Instant::now());
        let at = |seconds| since + Duration::from_secs(seconds);
        assert_eq!(refusals.count(Reason::Audience, at(0)), Some(1));
        assert_eq!(refusals.count(Reason::Audience, at(1)), None);
        assert_eq!(refusals.count(Reason::Issuer, at(1)), Some(1));
        assert_eq!(refusals.count(Reason::Audience, at(59)), None);
        assert_eq!(refusals.count(Reason::Audience, at(60)), Some(3));
        assert_eq!(refusals.count(Reason::Audience, at(61)), None);
    }
}
