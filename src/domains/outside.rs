//! Calls of the operator's own services, such as a payment provider. This module signs their requests and reads their
//! responses.

use hmac::{Hmac, KeyInit as _, Mac};
use reqwest::Response;
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

/// The body of a response; `None` if it is larger than `most` bytes.
///
/// # Errors
/// The body isn't complete: the connection broke, or the call has timed out.
pub async fn whole(mut response: Response, most: usize) -> reqwest::Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > most {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}
