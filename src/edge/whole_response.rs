//! The HTTP response with the whole body of a GraphQL request: its headers, and how it may be cached.

use std::time::Duration;

use axum::{
    body::Body,
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::{
    auth::Caller,
    error_response::{SOON, advise},
    negotiation::{Format, is_known},
    requests::REQUEST_ID,
};

pub(super) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
/// Maximum number of headers of a response.
const MAX_HEADERS: usize = 6;

/// A response that isn't in parts.
pub(super) struct Whole {
    pub(super) body: Bytes,
    pub(super) status: StatusCode,
    pub(super) caching: HeaderValue,
}

impl Whole {
    /// The response to a request with this id and head. If the client has its body already, it isn't sent again.
    pub(super) fn into_response(self, format: Format, id: String, request: &Parts) -> Response {
        let Self { body, status, caching } = self;
        let mut response = Response::new(Body::empty());
        *response.status_mut() = status;
        let head = response.headers_mut();
        head.reserve(MAX_HEADERS);
        head.insert(header::CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
        head.insert(header::CACHE_CONTROL, caching);
        head.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        head.insert(header::VARY, HeaderValue::from_static("Accept, Authorization, Cookie"));
        if let Ok(id) = HeaderValue::try_from(id) {
            head.insert(REQUEST_ID, id);
        }
        advise(head, status, SOON);
        if status == StatusCode::METHOD_NOT_ALLOWED {
            head.insert(header::ALLOW, HeaderValue::from_static("POST"));
        }
        if request.method != Method::POST && status == StatusCode::OK {
            let tag = format!("\"{}\"", BASE64.encode(&Sha256::digest(&body)[..16]));
            let is_known = is_known(&request.headers, &tag);
            if let Ok(tag) = HeaderValue::try_from(tag) {
                head.insert(header::ETAG, tag);
            }
            if is_known {
                *response.status_mut() = StatusCode::NOT_MODIFIED;
                return response;
            }
        }
        *response.body_mut() = Body::from(body);
        response
    }
}

/// The `Cache-Control` value for a response: `private` for an authenticated caller, otherwise `public`.
pub(super) fn cache_control(max_age: Duration, caller: &Caller) -> HeaderValue {
    let scope = if caller.requester.subject.is_some() { "private" } else { "public" };
    let text = format!("{scope}, max-age={}", max_age.as_secs());
    HeaderValue::try_from(text).unwrap_or(NO_STORE)
}
