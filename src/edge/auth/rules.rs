//! Verification of tokens: signature and claims.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use jsonwebtoken::{Algorithm, Header, Validation, decode, decode_header, errors::ErrorKind};
use serde_json::Value;

use super::{Caller, keys::Key, refusals::Reason, roles::RolesClaim};
use crate::{config::Config, edge::json::Object, graphql::requester::Requester};

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
    Refused(Reason),
    /// None of the keys has signed the token, but an unknown public key may have.
    UnknownKey(Reason),
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
        let header = match header(token) {
            Ok(header) => header,
            Err(reason) => return Verdict::Refused(reason),
        };
        let mut reason = Reason::NoKey;
        let id = header.kid.as_deref();
        let mut validation = self.validation.clone();
        validation.algorithms = vec![header.alg];
        for key in keys.clone().filter(|key| key.fits(header.alg, id)) {
            match decode::<Value>(token, key.decoding(), &validation) {
                Ok(token) => {
                    let caller = self.caller(&token.claims, key);
                    return caller.map_or(Verdict::Refused(Reason::Claims), Verdict::Valid);
                }
                Err(error) if matches!(error.kind(), ErrorKind::InvalidSignature) => {
                    reason = Reason::Signature;
                }
                Err(error) => return Verdict::Refused(Reason::of(error.kind())),
            }
        }
        let is_named = id.is_some_and(|id| keys.clone().any(|key| key.is_named(id)));
        if is_named || !is_public(header.alg) {
            Verdict::Refused(reason)
        } else {
            Verdict::UnknownKey(reason)
        }
    }

    /// The caller with these claims, which the key has signed.
    fn caller(&self, claims: &Value, key: &Key) -> Option<Caller> {
        let subject = claims.get("sub")?.as_str()?;
        if subject.is_empty() || subject.len() > MAX_SUBJECT {
            return None;
        }
        let expires = Duration::try_from_secs_f64(claims.get("exp")?.as_f64()?).ok()?;
        let leeway = Duration::from_secs(self.validation.leeway);
        let roles = self.roles.read(claims);
        let name = claims.get("name").and_then(Value::as_str);
        let requester = Requester::new(subject, name, roles);
        let until = Some(expires.saturating_add(leeway));
        let withdrawn = Some(Arc::clone(key.withdrawn()));
        Some(Caller { requester, until, withdrawn, by_cookie: false })
    }
}

/// The header of an access token. Other kinds of token from the same issuer are refused
/// ([RFC 8725](https://www.rfc-editor.org/rfc/rfc8725#section-3.11)), and so are tokens with critical
/// extensions ([RFC 7515](https://www.rfc-editor.org/rfc/rfc7515#section-4.1.11)).
fn header(token: &str) -> Result<Header, Reason> {
    if !is_jwt(token) {
        return Err(Reason::Malformed);
    }
    let header = decode_header(token).map_err(|_| Reason::Header)?;
    let is_access = header.typ.as_deref().is_none_or(|kind| {
        let kind = kind.to_ascii_lowercase();
        matches!(kind.strip_prefix("application/").unwrap_or(&kind), "jwt" | "at+jwt")
    });
    if !is_access {
        return Err(Reason::Kind);
    }
    if header.crit.is_some() { Err(Reason::Critical) } else { Ok(header) }
}

/// Whether the text has the form of a signed token, in the compact serialization of
/// [RFC 7515](https://www.rfc-editor.org/rfc/rfc7515#section-7.1).
fn is_jwt(token: &str) -> bool {
    let parts: Option<Vec<_>> = token.split('.').map(|part| BASE64.decode(part).ok()).collect();
    let Some([header, claims, _]) = parts.as_deref() else { return false };
    // The library parses both as `Value`, the header before it checks the signature.
    [header, claims].into_iter().all(|part| serde_json::from_slice::<Object>(part).is_ok())
}

/// Whether an issuer may publish keys for this algorithm.
fn is_public(algorithm: Algorithm) -> bool {
    use Algorithm::{ES256, EdDSA, PS256, RS256};
    matches!(algorithm, RS256 | PS256 | ES256 | EdDSA)
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{EncodingKey, encode, get_current_timestamp};
    use serde_json::json;

    use super::*;

    const SECRET: &str = "a secret of these tests, of thirty-two bytes or more";

    fn signed(secret: &str, claims: &Value) -> String {
        let key = EncodingKey::from_secret(secret.as_bytes());
        encode(&Header::default(), claims, &key).expect("a token")
    }

    #[test]
    fn refusals_have_reasons() {
        let rules = Rules::new(&Config {
            auth_audience: Some("shop".into()),
            auth_issuer: Some("me".into()),
            ..Config::default()
        });
        let keys = [Key::from_secret(SECRET)];
        let reason = |token: &str| match rules.check(token, keys.iter()) {
            Verdict::Valid(_) => None,
            Verdict::Refused(reason) | Verdict::UnknownKey(reason) => Some(reason),
        };
        let now = get_current_timestamp();
        let whole = json!({ "sub": "a", "aud": "shop", "iss": "me", "exp": now + 600 });
        assert_eq!(reason(&signed(SECRET, &whole)), None);
        let with = |claim: &str, value: Value| {
            let mut claims = whole.clone();
            match value {
                Value::Null => drop(claims.as_object_mut().expect("claims").remove(claim)),
                value => claims[claim] = value,
            }
            signed(SECRET, &claims)
        };
        for (claim, value, expected) in [
            ("aud", json!("other"), Reason::Audience),
            ("aud", Value::Null, Reason::NoAudience),
            ("iss", json!("other"), Reason::Issuer),
            ("iss", Value::Null, Reason::NoIssuer),
            ("sub", Value::Null, Reason::NoSubject),
            ("sub", json!(""), Reason::Claims),
            ("exp", Value::Null, Reason::NoExpiry),
            ("exp", json!(now - 6_000), Reason::Expired),
            ("nbf", json!(now + 6_000), Reason::NotYetValid),
        ] {
            assert_eq!(reason(&with(claim, value.clone())), Some(expected), "{claim}: {value}");
        }
        let other = signed("another secret of these tests, of thirty-two bytes", &whole);
        assert_eq!(reason(&other), Some(Reason::Signature));
        let header = |header: Value| {
            let token = signed(SECRET, &whole);
            let (_, rest) = token.split_once('.').expect("parts");
            format!("{}.{rest}", BASE64.encode(header.to_string()))
        };
        assert_eq!(reason(&header(json!({ "alg": "RS256" }))), Some(Reason::NoKey));
        assert_eq!(reason(&header(json!({ "alg": "none" }))), Some(Reason::Header));
        assert_eq!(
            reason(&header(json!({ "alg": "HS256", "typ": "dpop+jwt" }))),
            Some(Reason::Kind)
        );
        let raw = json!({ "alg": "HS256", "x": { "$serde_json::private::RawValue": "1" } });
        assert_eq!(reason(&header(raw)), Some(Reason::Malformed));
        for text in ["", "abc", "a.b", "e30.e30", "e30.e30.e30.e30", "e30.W10.e30"] {
            assert_eq!(reason(text), Some(Reason::Malformed), "{text}");
        }
    }
}
