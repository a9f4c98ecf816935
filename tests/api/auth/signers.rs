//! Those who sign tokens.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use jsonwebtoken::{Algorithm, EncodingKey, Header, crypto, encode, jwk::Jwk};
use serde_json::{Value, json};

use crate::support::{TOKEN_SECRET, now_seconds};

/// Key pairs of these tests alone.
pub const RSA: (&str, &str) =
    (include_str!("../keys/rsa.pem"), include_str!("../keys/rsa.pub.pem"));
pub const EC: (&str, &str) = (include_str!("../keys/ec.pem"), include_str!("../keys/ec.pub.pem"));
/// Public keys that no token may be signed with.
pub const RSA_1024: &str = include_str!("../keys/rsa1024.pub.pem");
pub const EC_384: &str = include_str!("../keys/ec384.pub.pem");

/// Somebody with a private key.
#[derive(Clone)]
pub struct Signer {
    pub algorithm: Algorithm,
    pub key: EncodingKey,
    /// The `kid` that its tokens name.
    pub id: Option<String>,
}

impl Signer {
    /// With the shared secret.
    pub fn secret(secret: &[u8]) -> Self {
        Self { algorithm: Algorithm::HS256, key: EncodingKey::from_secret(secret), id: None }
    }

    /// The gateway's own shared secret.
    pub fn shared() -> Self {
        Self::secret(TOKEN_SECRET.as_bytes())
    }

    /// With the RSA key.
    pub fn rsa(algorithm: Algorithm) -> Self {
        let key = EncodingKey::from_rsa_pem(RSA.0.as_bytes()).expect("a key");
        Self { algorithm, key, id: None }
    }

    /// With the P-256 key.
    pub fn ec() -> Self {
        let key = EncodingKey::from_ec_pem(EC.0.as_bytes()).expect("a key");
        Self { algorithm: Algorithm::ES256, key, id: None }
    }

    /// With the Ed25519 key that comes from this name (RFC 8410 has the frame), and is called so.
    pub fn ed(name: &str) -> Self {
        let mut der = vec![0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
        let mut seed = [7; 32];
        seed[..name.len()].copy_from_slice(name.as_bytes());
        der.extend(seed);
        let key = EncodingKey::from_ed_der(&der);
        Self { algorithm: Algorithm::EdDSA, key, id: Some(name.to_owned()) }
    }

    /// The same one, whose tokens name this key.
    pub fn named(self, id: Option<&str>) -> Self {
        Self { id: id.map(str::to_owned), ..self }
    }

    /// The public key as an issuer publishes it: without `alg`.
    pub fn jwk(&self) -> Value {
        let jwk = Jwk::from_encoding_key(&self.key, self.algorithm).expect("a public key");
        let mut jwk = serde_json::to_value(jwk).expect("JSON");
        let fields = jwk.as_object_mut().expect("an object");
        fields.remove("alg");
        fields.extend(self.id.clone().map(|id| ("kid".to_owned(), id.into())));
        jwk
    }

    /// The public Ed25519 key as PEM text.
    pub fn ed_pem(&self) -> String {
        let mut der = vec![0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];
        der.extend(self.ed_bytes());
        format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der))
    }

    /// The public Ed25519 key.
    pub fn ed_bytes(&self) -> Vec<u8> {
        let jwk = self.jwk();
        URL_SAFE_NO_PAD.decode(jwk["x"].as_str().expect("a text")).expect("base64")
    }

    /// A token for `someone` that is good for an hour.
    pub fn token(&self) -> String {
        self.token_of("someone")
    }

    /// A token for that subject, good for an hour.
    pub fn token_of(&self, subject: &str) -> String {
        self.signed(&json!({ "sub": subject, "exp": now_seconds() + 3600 }))
    }

    /// A token with these claims.
    pub fn signed(&self, claims: &Value) -> String {
        let header = Header { kid: self.id.clone(), ..Header::new(self.algorithm) };
        encode(&header, claims, &self.key).expect("a token")
    }

    /// A token with this header, good for an hour, signed in this one's way whatever it says.
    pub fn under(&self, header: &Value) -> String {
        let claims = json!({ "sub": "someone", "exp": now_seconds() + 3600 });
        let message = unsigned(header, &claims);
        let signature = crypto::sign(message.as_bytes(), &self.key, self.algorithm);
        format!("{message}.{}", signature.expect("a signature"))
    }
}

/// The first two parts of a token.
pub fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}
