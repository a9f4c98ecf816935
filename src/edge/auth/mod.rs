//! Authentication by bearer token (RFC 6750, RFC 7519).
//!
//! A token comes in the `Authorization` header or in a cookie. `configured` and `issuer` hold the keys that
//! verify signatures; `rules` checks the claims. A valid token is cached until it expires or the keys change,
//! so that later requests with it cost only a cache lookup.

mod configured;
mod cookie;
mod issuer;
mod key_set;
mod keys;
mod refusals;
mod roles;
mod rules;

use std::{sync::Arc, time::Duration};

use axum::http::{HeaderMap, header::AUTHORIZATION};
use jsonwebtoken::get_current_timestamp;
use quick_cache::sync::Cache;
use tokio_util::sync::CancellationToken;

use crate::{app::App, config::Config, error::Error, graphql::requester::Requester};
use issuer::Issuer;
use keys::Key;
use refusals::{Reason, Refusals};
use rules::{Rules, Verdict};

pub use configured::KeyError;
pub use roles::RolesClaim;

/// Maximum number of cached tokens.
const MAX_CACHED: usize = 4_096;
/// Maximum length of a cached token in bytes; longer ones are verified each time.
const MAX_CACHED_LENGTH: usize = 4 << 10;

/// Verifies tokens.
pub struct Authenticator {
    known: Cache<String, Known>,
    keys: Vec<Key>,
    issuer: Option<Issuer>,
    rules: Rules,
    refusals: Refusals,
    /// Name of the cookie that may hold a token.
    cookie: Option<String>,
}

/// The caller of a request, and the end of its token's validity.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Subject, name and roles.
    pub requester: Requester,
    /// End of the token's validity as time since the Unix epoch, including leeway. `None` for an anonymous
    /// caller.
    pub until: Option<Duration>,
    /// Cancelled when the issuer has removed the key that signed the token. `None` for an anonymous caller.
    pub withdrawn: Option<Arc<CancellationToken>>,
    /// Whether the token came in a cookie. Browsers add cookies to requests from pages of other sites, so
    /// such a request must prove that it isn't cross-site.
    pub by_cookie: bool,
}

/// A verified token.
#[derive(Clone)]
struct Known {
    caller: Caller,
    /// Generation of the issuer's keys with which the token was verified. The entry is valid only for this
    /// generation.
    generation: u64,
}

impl Authenticator {
    /// Loads the configured keys. [`Self::with_issuer`] adds those at a URL.
    ///
    /// # Errors
    /// Names the key that can't be used.
    pub fn new(config: &Config) -> Result<Self, KeyError> {
        Ok(Self {
            known: Cache::new(MAX_CACHED),
            keys: configured::keys(config)?,
            issuer: None,
            rules: Rules::new(config),
            refusals: Refusals::default(),
            cookie: config.auth_cookie.clone(),
        })
    }

    /// Faults of the configured keys, each as a sentence.
    pub fn faults(config: &Config) -> Vec<String> {
        let keys = configured::faults(config);
        keys.iter().map(KeyError::to_string).chain(RolesClaim::faults(config)).collect()
    }

    /// Starts following the keys of the issuer, if one is configured. The issuer may be unreachable at this
    /// point.
    ///
    /// # Errors
    /// The HTTP client can't be created.
    pub fn with_issuer(self, app: &App) -> Result<Self, KeyError> {
        Ok(Self { issuer: Issuer::begin(app)?, ..self })
    }

    /// The caller by the `Authorization` header, otherwise by the cookie. A request with neither is
    /// anonymous; an invalid token is refused rather than ignored.
    ///
    /// # Errors
    /// `NotBearer`, `BadToken`, `MalformedToken` or `KeysUnavailable`; `BadInput` if there are several `Authorization` headers, because it is
    /// unknown which of them a proxy in front has checked.
    pub async fn caller(&self, headers: &HeaderMap) -> Result<Caller, Error> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        if let Some(value) = values.next() {
            if values.next().is_some() {
                return Err(Error::bad_input("authorization", "is in more than one header"));
            }
            let value = value.to_str().map_err(|_| Error::NotBearer)?;
            return self.by_header_value(value).await;
        }
        let Some(name) = &self.cookie else { return Ok(Caller::default()) };
        let token = cookie::value(headers, name);
        let token = token.map_err(|_| self.refusals.refuse(Reason::Cookies))?;
        let Some(token) = token else { return Ok(Caller::default()) };
        Ok(Caller { by_cookie: true, ..self.by_token(token).await? })
    }

    /// The caller by the value of an `Authorization` header.
    ///
    /// # Errors
    /// `NotBearer`, `BadToken`, `MalformedToken` or `KeysUnavailable`.
    pub async fn by_header_value(&self, value: &str) -> Result<Caller, Error> {
        let (scheme, token) = value.split_once(' ').ok_or(Error::NotBearer)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Error::NotBearer);
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
            return Err(self.refusals.refuse(Reason::Expired));
        }
        Ok(caller)
    }

    /// Verifies a token with the known keys. If none matches, the issuer's keys are fetched, and the token is
    /// verified once more.
    async fn check(&self, token: &str) -> Result<Caller, Error> {
        let mut was_refreshed = false;
        loop {
            let published = self.issuer.as_ref().map(Issuer::published).unwrap_or_default();
            let keys = self.keys.iter().chain(published.set.keys());
            match (self.rules.check(token, keys), &self.issuer) {
                (Verdict::Valid(caller), _) => {
                    if token.len() <= MAX_CACHED_LENGTH {
                        let generation = published.generation;
                        self.known
                            .insert(token.to_owned(), Known { caller: caller.clone(), generation });
                    }
                    return Ok(caller);
                }
                (Verdict::UnknownKey(_), Some(issuer)) if !was_refreshed => {
                    issuer.refresh_for_unknown_key().await;
                    was_refreshed = true;
                }
                // The issuer may have published the key in the meantime.
                (Verdict::UnknownKey(_), Some(_)) if !published.is_current => {
                    return Err(Error::KeysUnavailable);
                }
                (Verdict::UnknownKey(reason) | Verdict::Refused(reason), _) => {
                    return Err(self.refusals.refuse(reason));
                }
            }
        }
    }

    fn generation(&self) -> u64 {
        self.issuer.as_ref().map_or(0, Issuer::generation)
    }
}
