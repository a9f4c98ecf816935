//! The keys in the configuration.

use std::{fs, io};

use jsonwebtoken::{DecodingKey, errors::Result as Parsed, jwk::Jwk};

use super::{key_set::KeySet, keys::Key};
use crate::config::{Config, unread};

/// Error: a configured key can't be used.
#[derive(Debug, thiserror::Error)]
#[error("{key}: {reason}")]
pub struct KeyError {
    key: &'static str,
    reason: String,
}

impl KeyError {
    pub(super) fn new(key: &'static str, reason: impl Into<String>) -> Self {
        Self { key, reason: reason.into() }
    }
}

/// Loads all configured keys. They don't change while the process runs.
///
/// # Errors
/// Names the first key that can't be used.
pub(super) fn keys(config: &Config) -> Result<Vec<Key>, KeyError> {
    let sources: Result<Vec<_>, _> = each(config).collect();
    Ok(sources?.into_iter().flatten().collect())
}

/// The error of every key that can't be used.
pub(super) fn faults(config: &Config) -> Vec<KeyError> {
    each(config).filter_map(Result::err).collect()
}

/// Parses a PEM text of one type of key.
type Parse = fn(&[u8]) -> Parsed<DecodingKey>;

/// The keys of each setting.
fn each(config: &Config) -> impl Iterator<Item = Result<Vec<Key>, KeyError>> {
    let public: [(_, _, _, Parse); 3] = [
        ("auth_rs256_public_key", "RSA", &config.auth_rs256_public_key, DecodingKey::from_rsa_pem),
        ("auth_es256_public_key", "P-256", &config.auth_es256_public_key, DecodingKey::from_ec_pem),
        (
            "auth_eddsa_public_key",
            "Ed25519",
            &config.auth_eddsa_public_key,
            DecodingKey::from_ed_pem,
        ),
    ];
    let public = public.into_iter().filter_map(|(name, kind, given, parse)| {
        let read = read_pem(given.as_deref()?).and_then(|pem| public_key(&pem, kind, parse));
        Some(read.map(|key| vec![key]).map_err(|reason| KeyError::new(name, reason)))
    });
    let secret =
        config.auth_hs256_secret.as_deref().map(|secret| Ok(vec![Key::from_secret(secret)]));
    let set = config
        .auth_jwks_file
        .as_deref()
        .map(|path| read_set(path).map_err(|reason| KeyError::new("auth_jwks_file", reason)));
    secret.into_iter().chain(public).chain(set)
}

/// A PEM text, given directly or as the path of a file.
fn read_pem(text_or_path: &str) -> Result<String, String> {
    match text_or_path.trim_start() {
        "" => Err("it is empty".to_owned()),
        text if text.starts_with("-----BEGIN") => Ok(text.to_owned()),
        _ => fs::read_to_string(text_or_path).map_err(|fault| because(text_or_path, &fault)),
    }
}

fn public_key(pem: &str, kind: &str, parse: Parse) -> Result<Key, String> {
    // Converted to a JWK, so that every key passes the same checks.
    let jwk = parse(pem.as_bytes()).and_then(|key| Jwk::from_decoding_key(&key, None));
    let jwk = jwk.map_err(|_| format!("it isn't the PEM text of a public {kind} key"))?;
    Key::from_jwk(&jwk).map_err(str::to_owned)
}

fn read_set(path: &str) -> Result<Vec<Key>, String> {
    let text = fs::read(path).map_err(|fault| because(path, &fault))?;
    let set = KeySet::from_json(&text).map_err(|reason| format!("{path}: {reason}"))?;
    Ok(set.into_keys())
}

fn because(path: &str, fault: &io::Error) -> String {
    format!("{path}: {}", unread(fault))
}
