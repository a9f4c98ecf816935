//! From a bearer token (RFC 6750, RFC 7519) to who asks.
//!
//! A token comes in the `Authorization` header or in a cookie. `configured` and `issuer`
//! have the keys that signatures are checked with, `rules` says what else a token must say. A token
//! that held is remembered until it expires or the keys change: a request with one costs a look into
//! that memory and nothing else.

mod configured;
mod cookie;
mod issuer;
mod key_set;
mod keys;
mod roles;
mod rules;

use std::time::Duration;

use axum::http::{HeaderMap, header::AUTHORIZATION};
use jsonwebtoken::get_current_timestamp;
use quick_cache::sync::Cache;

use crate::{app::App, config::Config, error::Error, graphql::requester::Requester};
use issuer::Issuer;
use keys::Key;
use rules::{Rules, Verdict};

pub use configured::KeyError;
pub use roles::RolesClaim;

/// Tokens that are known to hold at the most.
const KNOWN: usize = 4_096;
/// Longer ones are checked each time.
const LONGEST: usize = 4 << 10;

/// Checks tokens.
pub struct Authenticator {
    known: Cache<String, Known>,
    keys: Vec<Key>,
    issuer: Option<Issuer>,
    rules: Rules,
    /// Name of the cookie that may hold a token.
    cookie: Option<String>,
}

/// Who asks, and until when that is known.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Subject and roles.
    pub requester: Requester,
    /// Until when the token holds, since the beginning of 1970, leeway included; none for an
    /// anonymous caller.
    pub until: Option<Duration>,
    /// Whether the token came in a cookie. Browsers send cookies along with what pages of other sites
    /// ask for, so such a request has to show that it isn't one of those.
    pub by_cookie: bool,
}

/// A token that held.
#[derive(Clone)]
struct Known {
    caller: Caller,
    /// Of the issuer's keys that it was checked with. It holds for these alone.
    generation: u64,
}

impl Authenticator {
    /// Reads the configured keys. Those behind a URL come with [`Self::with_issuer`].
    ///
    /// # Errors
    /// Names the key that can't be used.
    pub fn new(config: &Config) -> Result<Self, KeyError> {
        Ok(Self {
            known: Cache::new(KNOWN),
            keys: configured::keys(config)?,
            issuer: None,
            rules: Rules::new(config),
            cookie: config.auth_cookie.clone(),
        })
    }

    /// What is wrong with the configured keys, each fault as a sentence.
    pub fn faults(config: &Config) -> Vec<String> {
        configured::faults(config).iter().map(KeyError::to_string).collect()
    }

    /// Begins to follow the keys of the issuer, where one is configured. It may be away for now.
    ///
    /// # Errors
    /// There can be no requests to it.
    pub fn with_issuer(self, app: &App) -> Result<Self, KeyError> {
        Ok(Self { issuer: Issuer::begin(app)?, ..self })
    }

    /// Who asks, by the request's `Authorization` header, or else by its cookie. Neither is an
    /// anonymous caller; a token that doesn't hold is refused rather than passed over.
    ///
    /// # Errors
    /// `BadToken` or `KeysUnavailable`; `BadInput` where there are several headers, as nothing tells which
    /// of them a proxy in front has looked at.
    pub async fn caller(&self, headers: &HeaderMap) -> Result<Caller, Error> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        if let Some(value) = values.next() {
            if values.next().is_some() {
                return Err(Error::bad_input("authorization", "stands in more than one header"));
            }
            let value = value.to_str().map_err(|_| Error::BadToken)?;
            return self.by_header_value(value).await;
        }
        let Some(name) = &self.cookie else { return Ok(Caller::default()) };
        let Some(token) = cookie::value(headers, name)? else { return Ok(Caller::default()) };
        Ok(Caller { by_cookie: true, ..self.by_token(token).await? })
    }

    /// Who asks, by the value of an `Authorization` header.
    ///
    /// # Errors
    /// `BadToken` or `KeysUnavailable`.
    pub async fn by_header_value(&self, value: &str) -> Result<Caller, Error> {
        let (scheme, token) = value.split_once(' ').ok_or(Error::BadToken)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Error::BadToken);
        }
        self.by_token(token.trim()).await
    }

    async fn by_token(&self, token: &str) -> Result<Caller, Error> {
        let caller = match self.known.get(token) {
            Some(known) if known.generation == self.generation() => known.caller,
            _ => self.check(token).await?,
        };
        let now = Duration::from_secs(get_current_timestamp());
        if caller.until.is_none_or(|until| now > until) {
            self.known.remove(token);
            return Err(Error::BadToken);
        }
        Ok(caller)
    }

    /// Checks a token with the keys that are known, and where none of them fits once more with those
    /// that the issuer has now.
    async fn check(&self, token: &str) -> Result<Caller, Error> {
        let mut was_looked_for = false;
        loop {
            let published = self.issuer.as_ref().map(Issuer::published).unwrap_or_default();
            let keys = self.keys.iter().chain(published.set.keys());
            match (self.rules.check(token, keys), &self.issuer) {
                (Verdict::Holds(caller), _) => {
                    if token.len() <= LONGEST {
                        let generation = published.generation;
                        self.known
                            .insert(token.to_owned(), Known { caller: caller.clone(), generation });
                    }
                    return Ok(caller);
                }
                (Verdict::UnknownKey, Some(issuer)) if !was_looked_for => {
                    issuer.look_for_key().await;
                    was_looked_for = true;
                }
                // It may be a key that the issuer has by now.
                (Verdict::UnknownKey, Some(_)) if !published.is_current => {
                    return Err(Error::KeysUnavailable);
                }
                (Verdict::UnknownKey | Verdict::Refused, _) => return Err(Error::BadToken),
            }
        }
    }

    fn generation(&self) -> u64 {
        self.issuer.as_ref().map_or(0, Issuer::generation)
    }
}
