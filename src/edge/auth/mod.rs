//! From a bearer token (RFC 6750, RFC 7519) to who asks.

use std::{fs, path::Path, time::Duration};

use axum::http::{HeaderMap, header::AUTHORIZATION};
use jsonwebtoken::{
    Algorithm, DecodingKey, Validation, decode, decode_header, get_current_timestamp,
};
use quick_cache::sync::Cache;
use serde::Deserialize;

use crate::{
    config::Config,
    error::Error,
    graphql::requester::{Requester, Role},
};

/// A configured key can't be used.
#[derive(Debug, thiserror::Error)]
#[error("{key}: {reason}")]
pub struct KeyError {
    key: &'static str,
    reason: String,
}

/// Tokens that are known to hold at the most.
const KNOWN: usize = 4_096;
/// Longer ones are checked each time.
const LONGEST: usize = 4 << 10;

/// Checks tokens. Each algorithm has its own key, so that a token can't choose how a key is read.
/// The signature of a token that held is not checked again until the token expires.
pub struct Authenticator {
    known: Cache<String, Caller>,
    keys: Vec<(Algorithm, DecodingKey)>,
    issuer: Option<String>,
    audience: Option<String>,
    leeway: u64,
}

/// Who asks, and until when that is known.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Subject and roles.
    pub requester: Requester,
    /// Until when the token holds, since the beginning of 1970, leeway included; none for an
    /// anonymous caller.
    pub until: Option<Duration>,
    /// Whether the token came in a cookie, which a browser sends along also where another site's page
    /// asks it to.
    pub by_cookie: bool,
}

#[derive(Deserialize)]
struct Claims {
    sub: String,
    exp: f64,
    #[serde(default)]
    roles: Vec<String>,
}

impl Authenticator {
    /// Reads the configured keys.
    ///
    /// # Errors
    /// Names the key that can't be read.
    pub fn new(config: &Config) -> Result<Self, KeyError> {
        let mut keys = Vec::new();
        if let Some(secret) = &config.auth_hs256_secret {
            keys.push((Algorithm::HS256, DecodingKey::from_secret(secret.as_bytes())));
        }
        if let Some(pem) = &config.auth_rs256_public_key {
            let key = read("auth_rs256_public_key", pem, DecodingKey::from_rsa_pem)?;
            keys.push((Algorithm::RS256, key));
        }
        if let Some(pem) = &config.auth_es256_public_key {
            let key = read("auth_es256_public_key", pem, DecodingKey::from_ec_pem)?;
            keys.push((Algorithm::ES256, key));
        }
        Ok(Self {
            known: Cache::new(KNOWN),
            keys,
            issuer: config.auth_issuer.clone(),
            audience: config.auth_audience.clone(),
            leeway: config.auth_leeway_seconds,
        })
    }

    /// Who asks, by the request's `Authorization` header. No header is an anonymous caller; a token
    /// that doesn't hold is refused rather than passed over.
    ///
    /// # Errors
    /// `BadToken`.
    pub async fn caller(&self, headers: &HeaderMap) -> Result<Caller, Error> {
        let Some(value) = headers.get(AUTHORIZATION) else { return Ok(Caller::default()) };
        let value = value.to_str().map_err(|_| Error::BadToken)?;
        self.by_header_value(value).await
    }

    /// Who asks, by the value of an `Authorization` header.
    ///
    /// # Errors
    /// `BadToken`.
    pub async fn by_header_value(&self, value: &str) -> Result<Caller, Error> {
        let (scheme, token) = value.split_once(' ').ok_or(Error::BadToken)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Error::BadToken);
        }
        let token = token.trim();
        let known = match self.known.get(token) {
            Some(known) => known,
            None => self.check(token).ok_or(Error::BadToken)?,
        };
        let now = Duration::from_secs(get_current_timestamp());
        if known.until.is_none_or(|until| now > until) {
            self.known.remove(token);
            return Err(Error::BadToken);
        }
        Ok(known)
    }

    fn check(&self, token: &str) -> Option<Caller> {
        let Claims { sub, exp, roles } = self.claims(token)?;
        if sub.is_empty() || sub.len() > 128 {
            return None;
        }
        let roles = roles.iter().filter_map(|role| Role::from_name(role)).collect();
        let requester = Requester { subject: Some(sub), roles };
        let expires = Duration::try_from_secs_f64(exp).ok()?;
        let until = Some(expires.saturating_add(Duration::from_secs(self.leeway)));
        let caller = Caller { requester, until, by_cookie: false };
        if token.len() <= LONGEST {
            self.known.insert(token.to_owned(), caller.clone());
        }
        Some(caller)
    }

    fn claims(&self, token: &str) -> Option<Claims> {
        let algorithm = decode_header(token).ok()?.alg;
        let (_, key) = self.keys.iter().find(|(known, _)| *known == algorithm)?;
        let mut validation = Validation::new(algorithm);
        validation.leeway = self.leeway;
        validation.validate_nbf = true;
        validation.set_required_spec_claims(&["exp", "sub"]);
        match &self.audience {
            Some(audience) => validation.set_audience(&[audience]),
            None => validation.validate_aud = false,
        }
        if let Some(issuer) = &self.issuer {
            validation.set_issuer(&[issuer]);
            validation.required_spec_claims.insert("iss".to_owned());
        }
        Some(decode::<Claims>(token, key, &validation).ok()?.claims)
    }
}

/// A key given as PEM text or as the path of a file with it.
fn read(
    key: &'static str,
    text_or_path: &str,
    parse: impl Fn(&[u8]) -> jsonwebtoken::errors::Result<DecodingKey>,
) -> Result<DecodingKey, KeyError> {
    let pem = if text_or_path.trim_start().starts_with("-----BEGIN") {
        text_or_path.to_owned()
    } else {
        fs::read_to_string(Path::new(text_or_path))
            .map_err(|error| KeyError { key, reason: format!("{text_or_path}: {error}") })?
    };
    parse(pem.as_bytes()).map_err(|error| KeyError { key, reason: error.to_string() })
}
