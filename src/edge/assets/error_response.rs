//! Error responses of `/assets`, in the format of GraphQL errors.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use headers::{ContentRange, HeaderMapExt as _};
use serde_json::json;

use super::super::{
    Edge,
    error_response::{SOON, advise, with_status},
};
use crate::{error::Error, graphql::errors};

/// The failure of a request for a file.
#[derive(Debug)]
pub(super) enum AssetError {
    /// A failure, or an invalid request.
    Error(StatusCode, Error),
    /// The refusal of an operation, with its stable code.
    Refused(StatusCode, &'static str, String),
    /// The range begins after the end of the file, which has this many bytes.
    RangeNotSatisfiable(u64),
}

impl AssetError {
    pub(super) fn refused(status: StatusCode, code: &'static str, why: impl Into<String>) -> Self {
        Self::Refused(status, code, why.into())
    }

    /// The file doesn't exist, or isn't visible to this caller.
    pub(super) fn not_found(path: &str) -> Self {
        Self::refused(StatusCode::NOT_FOUND, "NOT_FOUND", format!("there is no asset {path:?}"))
    }

    pub(super) fn answer(self, edge: &Edge, id: &str) -> Response {
        let listed = |code: &str, message: &str| json!([{ "message": message, "extensions": { "code": code } }]);
        let mut length = None;
        let (status, errors) = match self {
            Self::Error(status, error) => {
                edge.observer.rejected(id, &error);
                (status, json!(errors::finished(error, id).errors))
            }
            Self::Refused(status, code, message) => (status, listed(code, &message)),
            Self::RangeNotSatisfiable(bytes) => {
                length = Some(ContentRange::unsatisfied_bytes(bytes));
                let message = format!("the range begins after the end: the file has {bytes} bytes");
                (StatusCode::RANGE_NOT_SATISFIABLE, listed("BAD_USER_INPUT", &message))
            }
        };
        let mut response = (status, Json(json!({ "errors": errors }))).into_response();
        let head = response.headers_mut();
        head.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        head.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if let Some(length) = length {
            head.typed_insert(length);
        }
        advise(head, status, SOON);
        response
    }
}

impl From<Error> for AssetError {
    fn from(error: Error) -> Self {
        let (status, error) = with_status(error);
        Self::Error(status, error)
    }
}
