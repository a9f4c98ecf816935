//! Why a request has no answer, and the status that says so.

use async_graphql::{Pos, Response};
use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response as HttpResponse},
};

use crate::{error::Error, graphql::errors};

/// In how many seconds to come again where room is soon there.
pub(super) const SOON: HeaderValue = HeaderValue::from_static("1");
/// The same where others hold on to what they have.
pub(super) const LATER: HeaderValue = HeaderValue::from_static("5");

/// An error with its status.
pub(super) type Refusal = (StatusCode, Error);

/// With the status that says the same.
pub(super) fn with_status(error: Error) -> Refusal {
    let status = match &error {
        Error::Unauthenticated | Error::BadToken => StatusCode::UNAUTHORIZED,
        Error::Forbidden(_) | Error::UntrustedDocument => StatusCode::FORBIDDEN,
        Error::BadInput { .. } | Error::TooComplex { .. } | Error::PersistedQueryNotFound => {
            StatusCode::BAD_REQUEST
        }
        Error::RateLimited(_) => StatusCode::TOO_MANY_REQUESTS,
        Error::Timeout(_) => StatusCode::GATEWAY_TIMEOUT,
        Error::Overloaded
        | Error::KeysUnavailable
        | Error::Unread(_)
        | Error::Unavailable(_)
        | Error::Uncounted(_) => StatusCode::SERVICE_UNAVAILABLE,
        Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, error)
}

/// The headers that go with a status: when to come again, and that a token is expected.
pub(super) fn advise(head: &mut HeaderMap, status: StatusCode, again: HeaderValue) {
    match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            head.insert(header::RETRY_AFTER, again);
        }
        StatusCode::UNAUTHORIZED => {
            head.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        _ => {}
    }
}

/// A whole answer in JSON that holds nothing but why there is none.
pub(super) fn answer((status, error): Refusal, again: HeaderValue) -> HttpResponse {
    let answer = errors::finish(refused(error), "");
    let body = serde_json::to_vec(&answer).unwrap_or_default();
    let head = [(header::CONTENT_TYPE, "application/json")];
    let mut response = (status, head, body).into_response();
    advise(response.headers_mut(), status, again);
    response
}

/// An answer that holds nothing but why there is none.
pub(super) fn refused(error: Error) -> Response {
    let mut error = async_graphql::Error::from(error).into_server_error(Pos::default());
    // It is about the request, not about a place in its text.
    error.locations.clear();
    Response::from_errors(vec![error])
}
