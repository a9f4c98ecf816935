//! A JWK set, as an issuer publishes it.

use jsonwebtoken::jwk::Jwk;
use serde::Deserialize;
use serde_json::{Value, error::Category};

use super::keys::Key;

/// The usable keys of a set ([RFC 7517](https://www.rfc-editor.org/rfc/rfc7517#section-5)).
#[derive(Default)]
pub(super) struct KeySet {
    /// The usable keys as published, for comparing two sets.
    published: Vec<Jwk>,
    keys: Vec<Key>,
}

#[derive(Deserialize)]
struct Published {
    keys: Vec<Value>,
}

fn not_a_set(fault: &serde_json::Error) -> String {
    let (line, column) = (fault.line(), fault.column());
    match fault.classify() {
        Category::Data => "what is there isn't a JWK set: it has no list `keys`".to_owned(),
        _ => format!("what is there isn't JSON (line {line}, column {column})"),
    }
}

impl KeySet {
    /// Parses a set. Unusable keys are ignored, as the standard requires: a set may contain keys for other
    /// purposes and of later types.
    ///
    /// # Errors
    /// States why it isn't a set, or that none of its keys can be used.
    pub(super) fn from_json(text: &[u8]) -> Result<Self, String> {
        let set: Published = serde_json::from_slice(text).map_err(|fault| not_a_set(&fault))?;
        let mut usable = Self::default();
        for (position, jwk) in set.keys.into_iter().enumerate() {
            let read = serde_json::from_value::<Jwk>(jwk).map_err(|_| "it can't be read");
            match read.and_then(|jwk| Ok((Key::from_jwk(&jwk)?, jwk))) {
                Ok((key, jwk)) if !usable.published.contains(&jwk) => {
                    usable.keys.push(key);
                    usable.published.push(jwk);
                }
                // It is there twice.
                Ok(_) => {}
                Err(reason) => {
                    tracing::debug!(
                        event = "jwk_ignored",
                        position,
                        reason,
                        "a key of the JWK set is ignored"
                    );
                }
            }
        }
        if usable.keys.is_empty() {
            return Err("the JWK set has no key that can be used".to_owned());
        }
        Ok(usable)
    }

    /// The usable keys.
    pub(super) fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The usable keys, without the published form.
    pub(super) fn into_keys(self) -> Vec<Key> {
        self.keys
    }

    /// Takes the place of the set before: keys that are in both stay, and the others are withdrawn.
    pub(super) fn replace(&mut self, before: &Self) {
        for (jwk, key) in before.published.iter().zip(&before.keys) {
            let mut pairs = self.published.iter().zip(&mut self.keys);
            match pairs.find(|(published, _)| *published == jwk) {
                Some((_, own)) => own.succeed(key),
                None => key.withdrawn().cancel(),
            }
        }
    }

    /// Whether the other set has the same keys.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.published == other.published
    }
}
