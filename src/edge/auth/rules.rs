//! Verification of tokens: signature and claims.

use std::time::Duration;

use jsonwebtoken::{Algorithm, Header, Validation, decode, decode_header, errors::ErrorKind};
use serde_json::Value;

use super::{Caller, keys::Key, roles::RolesClaim};
use crate::{config::Config, graphql::requester::Requester};

/// Maximum length of a subject, in bytes.
const MAX_SUBJECT: usize = 128;

/// Requirements on tokens ([RFC 7519](https://www.rfc-editor.org/rfc/rfc7519#section-4.1)): subject (`sub`)
/// and expiry (`exp`) always, `iss` and `aud` if configured.
pub(super) struct Rules {
    validation: Validation,
    roles: RolesClaim,
}

/// The result of a verification.
pub(super) enum Verdict {
    /// The token is valid.
    Valid(Caller),
    /// The token is invalid, and no other key can make it valid.
    Refused,
    /// None of the keys has signed the token, but an unknown public key may have.
    UnknownKey,
}

impl Rules {
    /// The requirements of a configuration.
    pub(super) fn new(config: &Config) -> Self {
        let mut validation = Validation::default();
        let mut required = vec!["exp", "sub"];
        validation.leeway = config.auth_leeway_seconds;
        validation.validate_nbf = true;
        match &config.auth_audience {
            Some(audience) => {
                validation.set_audience(&[audience]);
                required.push("aud");
            }
            None => validation.validate_aud = false,
        }
        if let Some(issuer) = &config.auth_issuer {
            validation.set_issuer(&[issuer]);
            required.push("iss");
        }
        validation.set_required_spec_claims(&required);
        Self { validation, roles: RolesClaim::of(config) }
    }

    /// Verifies a token with those of `keys` that its header permits.
    pub(super) fn check<'a>(
        &self,
        token: &str,
        keys: impl Iterator<Item = &'a Key> + Clone,
    ) -> Verdict {
        let Some(header) = header(token) else { return Verdict::Refused };
        let id = header.kid.as_deref();
        let mut validation = self.validation.clone();
        validation.algorithms = vec![header.alg];
        for key in keys.clone().filter(|key| key.fits(header.alg, id)) {
            match decode::<Value>(token, key.decoding(), &validation) {
                Ok(token) => {
                    return self.caller(&token.claims).map_or(Verdict::Refused, Verdict::Valid);
                }
                Err(error) if matches!(error.kind(), ErrorKind::InvalidSignature) => {}
                Err(_) => return Verdict::Refused,
            }
        }
        let is_named = id.is_some_and(|id| keys.clone().any(|key| key.is_named(id)));
        if is_named || !is_public(header.alg) { Verdict::Refused } else { Verdict::UnknownKey }
    }

    fn caller(&self, claims: &Value) -> Option<Caller> {
        let subject = claims.get("sub")?.as_str()?;
        if subject.is_empty() || subject.len() > MAX_SUBJECT {
            return None;
        }
        let expires = Duration::try_from_secs_f64(claims.get("exp")?.as_f64()?).ok()?;
        let leeway = Duration::from_secs(self.validation.leeway);
        let roles = self.roles.read(claims);
        let name = claims.get("name").and_then(Value::as_str);
        let requester = Requester::new(subject, name, roles);
        Some(Caller { requester, until: Some(expires.saturating_add(leeway)), by_cookie: false })
    }
}

/// The header of an access token. Other kinds of token from the same issuer are refused
/// ([RFC 8725](https://www.rfc-editor.org/rfc/rfc8725#section-3.11)), and so are tokens with critical
/// extensions ([RFC 7515](https://www.rfc-editor.org/rfc/rfc7515#section-4.1.11)).
fn header(token: &str) -> Option<Header> {
    let header = decode_header(token).ok()?;
    let is_access = header.typ.as_deref().is_none_or(|kind| {
        let kind = kind.to_ascii_lowercase();
        matches!(kind.strip_prefix("application/").unwrap_or(&kind), "jwt" | "at+jwt")
    });
    (is_access && header.crit.is_none()).then_some(header)
}

/// Whether an issuer may publish keys for this algorithm.
fn is_public(algorithm: Algorithm) -> bool {
    use Algorithm::{ES256, EdDSA, PS256, RS256};
    matches!(algorithm, RS256 | PS256 | ES256 | EdDSA)
}
