//! The keys that stand in the configuration.

use std::{fs, io};

use jsonwebtoken::{DecodingKey, errors::Result as Parsed, jwk::Jwk};

use super::{key_set::KeySet, keys::Key};
use crate::config::Config;

/// A configured key can't be used.
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

/// All of them. They stay for as long as the process lives.
///
/// # Errors
/// Names the key that can't be used.
pub(super) fn keys(config: &Config) -> Result<Vec<Key>, KeyError> {
    let mut keys = Vec::new();
    keys.extend(config.auth_hs256_secret.as_deref().map(Key::from_secret));
    if let Some(pem) = &config.auth_rs256_public_key {
        keys.push(read("auth_rs256_public_key", pem, DecodingKey::from_rsa_pem)?);
    }
    if let Some(pem) = &config.auth_es256_public_key {
        keys.push(read("auth_es256_public_key", pem, DecodingKey::from_ec_pem)?);
    }
    if let Some(pem) = &config.auth_eddsa_public_key {
        keys.push(read("auth_eddsa_public_key", pem, DecodingKey::from_ed_pem)?);
    }
    if let Some(path) = &config.auth_jwks_file {
        let name = "auth_jwks_file";
        let text = fs::read(path).map_err(|fault| KeyError::new(name, unread(path, &fault)))?;
        let set = KeySet::from_json(&text).map_err(|reason| KeyError::new(name, reason))?;
        keys.extend(set.into_keys());
    }
    Ok(keys)
}

/// A public key given as PEM text or as the path of a file with it.
fn read(
    name: &'static str,
    text_or_path: &str,
    parse: impl Fn(&[u8]) -> Parsed<DecodingKey>,
) -> Result<Key, KeyError> {
    let pem = if text_or_path.trim_start().starts_with("-----BEGIN") {
        text_or_path.to_owned()
    } else {
        fs::read_to_string(text_or_path)
            .map_err(|fault| KeyError::new(name, unread(text_or_path, &fault)))?
    };
    // By way of a JWK, so that every key passes the same checks.
    let jwk = parse(pem.as_bytes()).and_then(|key| Jwk::from_decoding_key(&key, None));
    let jwk = jwk.map_err(|fault| {
        KeyError::new(name, format!("it isn't the PEM text of such a public key ({fault})"))
    })?;
    Key::from_jwk(&jwk).map_err(|reason| KeyError::new(name, reason))
}

fn unread(path: &str, fault: &io::Error) -> String {
    format!("{path}: {fault}")
}
