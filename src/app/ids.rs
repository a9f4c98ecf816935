//! What a gateway makes of its secret: ids that nobody can guess, the ops of idempotency keys, and signatures.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use hmac::{Hmac, KeyInit as _, Mac};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::flow::Op;

/// Ids, idempotency keys and signatures, which are keyed by the secret.
pub struct Ids {
    key: Hmac<Sha256>,
}

impl Ids {
    pub(super) fn new(secret: &str) -> Self {
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let key = Hmac::new_from_slice(secret.as_bytes()).expect("a key of any length");
        Self { key }
    }

    /// A random id of 128 bits in base64url, which may be a capability.
    pub fn random(&self) -> String {
        BASE64.encode(self.random_bytes())
    }

    /// 128 random bits.
    pub fn random_bytes(&self) -> [u8; 16] {
        #[expect(clippy::disallowed_methods, reason = "the one place that draws randomness")]
        rand::random()
    }

    /// The id that is derived from `parts`: always the same, and impossible to guess. It has 128 bits, in
    /// base64url.
    pub fn derived(&self, parts: &[&str]) -> String {
        BASE64.encode(&self.mac(parts)[..16])
    }

    /// Whether `id` is [`Self::derived`] of `parts`. The check takes the same time for every wrong id.
    pub fn verifies(&self, parts: &[&str], id: &str) -> bool {
        let Ok(given) = BASE64.decode(id) else { return false };
        given.len() == 16 && self.hashed(parts).verify_truncated_left(&given).is_ok()
    }

    /// A short signature of `parts`, for tokens that come back from clients.
    pub fn signature(&self, parts: &[&str]) -> String {
        BASE64.encode(&self.mac(parts)[..9])
    }

    /// 64 bits that are derived from `parts`, for numbers that nobody can guess.
    pub fn bits(&self, parts: &[&str]) -> u64 {
        let mac = self.mac(parts);
        let (first, _) = mac.split_at(8);
        first.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
    }

    fn mac(&self, parts: &[&str]) -> [u8; 32] {
        self.hashed(parts).finalize().into_bytes().into()
    }

    fn hashed(&self, parts: &[&str]) -> Hmac<Sha256> {
        let mut mac = self.key.clone();
        for part in parts {
            // The lengths distinguish ("ab", "c") from ("a", "bc").
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        mac
    }

    /// The op of one call of a flow. `scope` is the owner of the idempotency key (a subject or a capability) and the
    /// operation; the digest is computed from `input`. Without an idempotency key, every call is a separate op.
    pub fn op(&self, scope: &[&str], idempotency_key: Option<&str>, input: &impl Serialize) -> Op {
        let id = match idempotency_key {
            Some(idempotency_key) => {
                let mut parts = vec!["op"];
                parts.extend_from_slice(scope);
                parts.push(idempotency_key);
                self.derived(&parts)
            }
            None => self.random(),
        };
        // The digest is only compared with digests of the same operation.
        let json = serde_json::to_vec(input).unwrap_or_default();
        Op { id, input: BASE64.encode(&Sha256::digest(json)[..12]) }
    }
}
