//! Why a request has no answer, and the status that says so.

use async_graphql::{Pos, Response};
use axum::http::StatusCode;

use crate::error::Error;

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

/// An answer that holds nothing but why there is none.
pub(super) fn refused(error: Error) -> Response {
    let mut error = async_graphql::Error::from(error).into_server_error(Pos::default());
    // It is about the request, not about a place in its text.
    error.locations.clear();
    Response::from_errors(vec![error])
}
