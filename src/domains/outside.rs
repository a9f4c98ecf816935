//! Calls of the operator's own services, such as a payment provider. This module signs their requests and reads their
//! responses.

use std::error::Error as _;

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
/// The body isn't complete: the connection broke, or the call has timed out. Contains the [cause].
pub async fn whole(mut response: Response, most: usize) -> Result<Option<Vec<u8>>, String> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(cause)? {
        if body.len() + chunk.len() > most {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}

/// The root cause of an error, for the log. It is without the URL, which may contain a key or a password.
pub fn cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let Some(mut cause) = error.source() else { return error.to_string() };
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use axum::http;

    use super::*;

    #[test]
    fn a_cause_is_told_without_the_url() {
        let response = http::Response::builder().status(500).body("").expect("a response");
        let failed = Response::from(response).error_for_status().expect_err("a failure");
        let url = "https://me:pass-4711@quotes.example/key-4711?key=key-4711";
        let failed = failed.with_url(url.parse().expect("a URL"));
        assert!(failed.to_string().contains("4711"), "{failed}");
        let told = cause(failed);
        assert!(told.contains("500") && !told.contains("4711"), "{told}");
    }
}
