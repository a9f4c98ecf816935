//! Keys that verify signatures, each restricted to its algorithms.

use std::sync::Arc;

use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind, crypto,
    jwk::{
        AlgorithmParameters, CommonParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations,
        PublicKeyUse,
    },
};
use tokio_util::sync::CancellationToken;

const UNREADABLE: &str = "it can't be read";

/// A key that verifies signatures.
pub(super) struct Key {
    /// The `kid`. A key without one is tried for every token of its algorithms.
    id: Option<String>,
    /// The permitted algorithms; a token can't choose another one.
    algorithms: &'static [Algorithm],
    decoding: DecodingKey,
    /// Cancelled when the issuer has removed the key. It never is for a key of the configuration.
    withdrawn: Arc<CancellationToken>,
}

impl Key {
    /// The shared secret, the only key for HS256.
    pub(super) fn from_secret(secret: &str) -> Self {
        let decoding = DecodingKey::from_secret(secret.as_bytes());
        let algorithms = &[Algorithm::HS256];
        Self { id: None, algorithms, decoding, withdrawn: Arc::default() }
    }

    /// A public key of a JWK set ([RFC 7517](https://www.rfc-editor.org/rfc/rfc7517)): RSA with 2048 to 4096
    /// bits, P-256 or Ed25519. A key with an `alg` is used only for that algorithm.
    ///
    /// # Errors
    /// States why the key can't be used. Symmetric keys are always refused, because everyone who can read a
    /// set could sign with them.
    pub(super) fn from_jwk(jwk: &Jwk) -> Result<Self, &'static str> {
        if !is_for_signatures(&jwk.common) {
            return Err("it isn't meant for checking signatures");
        }
        let algorithms = algorithms(jwk);
        let Some(algorithm) = algorithms.first() else {
            return Err("its type, curve or algorithm isn't one of those that tokens may have");
        };
        let decoding = DecodingKey::from_jwk(jwk).map_err(|_| UNREADABLE)?;
        match decoding.kind() {
            DecodingKeyKind::RsaModulusExponent { n, .. } => {
                if !(2_048..=4_096).contains(&bits(n)) {
                    return Err("an RSA key needs 2048 to 4096 bits");
                }
            }
            // jsonwebtoken panics on a shorter key and truncates a longer one.
            DecodingKeyKind::SecretOrDer(bytes) => {
                if *algorithm == Algorithm::EdDSA && bytes.len() != 32 {
                    return Err(UNREADABLE);
                }
            }
        }
        // jsonwebtoken validates a curve point only when the key is used.
        crypto::verify("", b"", &decoding, *algorithm).map_err(|_| UNREADABLE)?;
        let id = jwk.common.key_id.clone();
        Ok(Self { id, algorithms, decoding, withdrawn: Arc::default() })
    }

    /// Whether a token's `kid` names this key.
    pub(super) fn is_named(&self, id: &str) -> bool {
        self.id.as_deref() == Some(id)
    }

    /// Whether this key may have signed a token with this `alg` and `kid`.
    pub(super) fn fits(&self, algorithm: Algorithm, id: Option<&str>) -> bool {
        let fits = match (&self.id, id) {
            (Some(own), Some(named)) => own == named,
            _ => true,
        };
        fits && self.algorithms.contains(&algorithm)
    }

    /// The key in jsonwebtoken's form.
    pub(super) fn decoding(&self) -> &DecodingKey {
        &self.decoding
    }

    /// Cancelled when the issuer has removed the key.
    pub(super) fn withdrawn(&self) -> &Arc<CancellationToken> {
        &self.withdrawn
    }

    /// Takes the place of the same key in the set before.
    pub(super) fn succeed(&mut self, before: &Self) {
        self.withdrawn = Arc::clone(&before.withdrawn);
    }
}

/// The permitted algorithms of a public key; empty if tokens can't be signed with it.
fn algorithms(jwk: &Jwk) -> &'static [Algorithm] {
    use AlgorithmParameters::{EllipticCurve as Curve, OctetKeyPair, RSA};
    match (&jwk.algorithm, jwk.common.key_algorithm) {
        (RSA(_), None) => &[Algorithm::RS256, Algorithm::PS256],
        (RSA(_), Some(KeyAlgorithm::RS256)) => &[Algorithm::RS256],
        (RSA(_), Some(KeyAlgorithm::PS256)) => &[Algorithm::PS256],
        (Curve(key), None | Some(KeyAlgorithm::ES256)) if key.curve == EllipticCurve::P256 => {
            &[Algorithm::ES256]
        }
        (OctetKeyPair(key), None | Some(KeyAlgorithm::EdDSA))
            if key.curve == EllipticCurve::Ed25519 =>
        {
            &[Algorithm::EdDSA]
        }
        _ => &[],
    }
}

fn is_for_signatures(key: &CommonParameters) -> bool {
    let used = key.public_key_use.as_ref();
    let operations = key.key_operations.as_ref();
    used.is_none_or(|used| *used == PublicKeyUse::Signature)
        && operations.is_none_or(|operations| operations.contains(&KeyOperations::Verify))
}

/// The bit length of a big-endian number.
fn bits(number: &[u8]) -> usize {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let number = &number[zeros..];
    number.first().map_or(0, |first| number.len() * 8 - first.leading_zeros() as usize)
}
