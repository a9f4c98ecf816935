//! What a gateway makes of its secret: ids that nobody can guess, the ops of idempotency keys, signatures, and bytes that
//! only gateways can read.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use hmac::{Hmac, KeyInit as _, Mac};
use serde::Serialize;
use sha2::Sha256;

use crate::flow::Op;

/// Number of bytes by which encrypted bytes are longer.
const VECTOR: usize = 16;

/// Ids, idempotency keys and signatures, which are keyed by the secret.
pub struct Ids {
    key: Hmac<Sha256>,
}

impl Ids {
    pub(crate) fn new(secret: &str) -> Self {
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

    /// Encrypts bytes that a client sends back but may not read. The result reveals their length, and whether they equal
    /// others of the same scope. The construction is that of SIV (RFC 5297) with HMAC: the MAC of the bytes is also the
    /// initialization vector of the key stream.
    pub fn encrypt(&self, scope: &str, mut bytes: Vec<u8>) -> Vec<u8> {
        let mac: [u8; 32] = self.authenticated(scope, &bytes).finalize().into_bytes().into();
        let mut encrypted = mac[..VECTOR].to_vec();
        self.mask(&encrypted, &mut bytes);
        encrypted.append(&mut bytes);
        encrypted
    }

    /// The bytes that [`Self::encrypt`] was given in this scope; `None` if it didn't make `encrypted`.
    pub fn decrypt(&self, scope: &str, encrypted: &[u8]) -> Option<Vec<u8>> {
        let (vector, masked) = encrypted.split_at_checked(VECTOR)?;
        let mut bytes = masked.to_vec();
        self.mask(vector, &mut bytes);
        self.authenticated(scope, &bytes).verify_truncated_left(vector).is_ok().then_some(bytes)
    }

    fn authenticated(&self, scope: &str, bytes: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.hashed(&["encrypt", scope]);
        mac.update(bytes);
        mac
    }

    /// Combines bytes with the key stream of a vector. The second time it restores them.
    fn mask(&self, vector: &[u8], bytes: &mut [u8]) {
        let vector = BASE64.encode(vector);
        for (number, block) in bytes.chunks_mut(32).enumerate() {
            let stream = self.mac(&["key stream", &vector, &number.to_string()]);
            block.iter_mut().zip(stream).for_each(|(byte, mask)| *byte ^= mask);
        }
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
        Op { id, input: Op::digest(input) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_gateways_of_the_secret_read_encrypted_bytes() {
        let ids = Ids::new("a secret");
        for length in [0, 1, 31, 32, 33, 100] {
            let bytes: Vec<u8> = (0..length).collect();
            let encrypted = ids.encrypt("scope", bytes.clone());
            assert_eq!(encrypted.len(), bytes.len() + VECTOR);
            assert_eq!(encrypted, ids.encrypt("scope", bytes.clone()));
            assert_eq!(ids.decrypt("scope", &encrypted), Some(bytes.clone()));
            assert_eq!(ids.decrypt("other", &encrypted), None);
            assert_eq!(Ids::new("another").decrypt("scope", &encrypted), None);
            assert_eq!(ids.decrypt("scope", &encrypted[..encrypted.len() - 1]), None);
            for at in 0..encrypted.len() {
                let mut changed = encrypted.clone();
                changed[at] ^= 1;
                assert_eq!(ids.decrypt("scope", &changed), None);
            }
            let is_shown = bytes.len() > 8 && encrypted.windows(8).any(|some| some == &bytes[..8]);
            assert!(!is_shown);
        }
        assert_eq!(ids.decrypt("scope", b"short"), None);
    }
}
