//! Calls of services of the operator: how their requests are signed.

use hmac::{Hmac, KeyInit as _, Mac};
use sha2::Sha256;

/// Header with the signature of a request.
pub const SIGNATURE: &str = "x-docgate-signature";

/// The signature of a body: `sha256=` and its HMAC-SHA256 under the secret, in lower-case hexadecimal.
///
/// # Panics
/// Never: HMAC takes a key of any length.
pub fn signature(secret: &str, body: &[u8]) -> String {
    #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key of any length");
    mac.update(body);
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}
