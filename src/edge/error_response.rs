//! Error responses and their HTTP status.

use axum::{
    Json,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response as HttpResponse},
};
use serde_json::json;

use crate::{error::Error, graphql::errors};

/// `Retry-After` in seconds for a limit that frees up soon.
pub(super) const SOON: HeaderValue = HeaderValue::from_static("1");
/// `Retry-After` in seconds for a limit on long-lived connections.
pub(super) const LATER: HeaderValue = HeaderValue::from_static("5");

/// An error with its HTTP status.
pub(super) type ErrorResponse = (StatusCode, Error);

/// Adds the HTTP status that corresponds to an error.
pub(super) fn with_status(error: Error) -> ErrorResponse {
    let status = match &error {
        Error::Unauthenticated | Error::NotBearer | Error::BadToken | Error::MalformedToken => {
            StatusCode::UNAUTHORIZED
        }
        Error::Forbidden(_) | Error::UntrustedDocument => StatusCode::FORBIDDEN,
        Error::BadInput { .. } | Error::TooComplex { .. } | Error::PersistedQueryNotFound => {
            StatusCode::BAD_REQUEST
        }
        Error::NotFound(_) => StatusCode::NOT_FOUND,
        Error::RateLimited(_) => StatusCode::TOO_MANY_REQUESTS,
        Error::Timeout(_) => StatusCode::GATEWAY_TIMEOUT,
        Error::Overloaded
        | Error::KeysUnavailable
        | Error::Unread(_)
        | Error::Unavailable(_)
        | Error::Uncounted(_)
        | Error::Unshown => StatusCode::SERVICE_UNAVAILABLE,
        Error::NewerVersion(_) | Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, error)
}

/// Sets the headers that belong to a status: `Retry-After` and `WWW-Authenticate`.
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

/// An HTTP response in JSON that holds only an error.
pub(super) fn answer((status, error): ErrorResponse, again: HeaderValue) -> HttpResponse {
    let body = serde_json::to_vec(&errors::finished(error, "")).unwrap_or_default();
    let head = [(header::CONTENT_TYPE, "application/json")];
    let mut response = (status, head, body).into_response();
    advise(response.headers_mut(), status, again);
    response
}

/// An HTTP response that holds only the code of an error, for requests that no GraphQL client sends.
pub(super) fn code_only((status, error): ErrorResponse) -> HttpResponse {
    let mut response = (status, error.code()).into_response();
    advise(response.headers_mut(), status, SOON);
    response
}

/// An HTTP response in JSON about a path at which nothing is found.
pub(super) fn not_found(message: &str) -> HttpResponse {
    without_operation(StatusCode::NOT_FOUND, "NOT_FOUND", message)
}

/// The response to a path that the gateway doesn't serve.
pub(super) async fn no_such_path() -> HttpResponse {
    not_found("nothing is served at this path; GraphQL is at /graphql")
}

/// The response to a method that a path doesn't take.
pub(super) async fn no_such_method(method: Method) -> HttpResponse {
    let message = format!("this path doesn't take {method}; the header Allow lists its methods");
    without_operation(StatusCode::METHOD_NOT_ALLOWED, "BAD_USER_INPUT", &message)
}

fn without_operation(status: StatusCode, code: &str, message: &str) -> HttpResponse {
    let error = json!({ "message": message, "extensions": { "code": code } });
    (status, Json(json!({ "errors": [error] }))).into_response()
}
