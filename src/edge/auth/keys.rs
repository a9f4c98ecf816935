//! The keys that check signatures, each bound to its algorithms.

use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind, crypto,
    jwk::{
        AlgorithmParameters, CommonParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations,
        PublicKeyUse,
    },
};

const UNREADABLE: &str = "it can't be read";

/// A key that checks signatures.
pub(super) struct Key {
    /// Its `kid`. One without is tried with every token of its algorithms.
    id: Option<String>,
    /// What it serves for; a token can't choose anything else.
    algorithms: &'static [Algorithm],
    decoding: DecodingKey,
}

impl Key {
    /// The shared secret, the only key of HS256.
    pub(super) fn from_secret(secret: &str) -> Self {
        let decoding = DecodingKey::from_secret(secret.as_bytes());
        Self { id: None, algorithms: &[Algorithm::HS256], decoding }
    }

    /// A public key of a JWK set ([RFC 7517](https://www.rfc-editor.org/rfc/rfc7517)): RSA of 2048
    /// to 4096 bits, P-256 or Ed25519. With an `alg` it serves for that one alone.
    ///
    /// # Errors
    /// Says why it isn't one. Symmetric keys never are: who can read a set could sign with them.
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
            // The library panics on one that is too short, and cuts one that is too long.
            DecodingKeyKind::SecretOrDer(bytes) => {
                if *algorithm == Algorithm::EdDSA && bytes.len() != 32 {
                    return Err(UNREADABLE);
                }
            }
        }
        // The library looks at a point of a curve only when the key is used.
        crypto::verify("", b"", &decoding, *algorithm).map_err(|_| UNREADABLE)?;
        Ok(Self { id: jwk.common.key_id.clone(), algorithms, decoding })
    }

    /// Whether it is the one that a token names.
    pub(super) fn is_named(&self, id: &str) -> bool {
        self.id.as_deref() == Some(id)
    }

    /// Whether it may have signed a token with that `alg` and `kid`.
    pub(super) fn fits(&self, algorithm: Algorithm, id: Option<&str>) -> bool {
        let fits = match (&self.id, id) {
            (Some(own), Some(named)) => own == named,
            _ => true,
        };
        fits && self.algorithms.contains(&algorithm)
    }

    /// What the library checks with.
    pub(super) fn decoding(&self) -> &DecodingKey {
        &self.decoding
    }
}

/// What a public key serves for; nothing, if no token may be signed that way.
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

/// How many bits a big-endian number has.
fn bits(number: &[u8]) -> usize {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let number = &number[zeros..];
    number.first().map_or(0, |first| number.len() * 8 - first.leading_zeros() as usize)
}
