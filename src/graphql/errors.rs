//! What of an error reaches the client: one place for all of them.
//!
//! Errors of ours carry a code and text that is safe; everything that MongoDB or another library
//! said is logged once with the request's id and shown as one fixed sentence.

use std::sync::Arc;

use async_graphql::{ErrorExtensionValues, Response, ServerError};

use crate::error::Error;

/// Characters of a message of the library.
const LONGEST_MESSAGE: usize = 1_000;

/// Gives every error of a response its code, and hides what is nobody's business.
pub fn finish(mut response: Response, request_id: &str) -> Response {
    for error in &mut response.errors {
        finish_one(error, request_id);
    }
    response
}

/// Of a mutation's errors: where one of its reads took too long or wasn't answered, something may have been
/// written before, so that its outcome isn't known.
pub fn in_doubt(response: &mut Response) {
    for error in &mut response.errors {
        let source = error.source.as_ref().and_then(|source| source.downcast_ref::<Error>());
        if let Some(Error::Timeout(inner) | Error::Unread(inner)) = source {
            let unknown = Error::unavailable(format!("a read failed: {inner}"));
            error.message = unknown.to_string();
            error.source = Some(Arc::new(unknown));
        }
    }
}

fn finish_one(error: &mut ServerError, request_id: &str) {
    let extensions = error.extensions.get_or_insert_with(ErrorExtensionValues::default);
    if extensions.get("code").is_some() {
        return;
    }
    let Some(source) = &error.source else {
        // Without a source it is async-graphql's own word about the query text or its variables.
        extensions.set("code", "BAD_USER_INPUT");
        // It may hold what the client has sent, whole.
        if let Some((end, _)) = error.message.char_indices().nth(LONGEST_MESSAGE) {
            error.message.truncate(end);
        }
        let argument = error.message.strip_prefix("Invalid value for argument \"");
        if let Some((field, _)) = argument.and_then(|rest| rest.split_once('"')) {
            extensions.set("field", field);
        }
        return;
    };
    let Some(known) = source.downcast_ref::<Error>() else {
        tracing::error!(request_id, message = error.message, "an error of a foreign type");
        extensions.set("code", "INTERNAL_SERVER_ERROR");
        extensions.set("requestId", request_id);
        "internal error".clone_into(&mut error.message);
        return;
    };
    extensions.set("code", known.code());
    match known {
        Error::Internal(inner) => {
            tracing::error!(request_id, error = %inner, path = ?error.path, "internal error");
            extensions.set("requestId", request_id);
        }
        Error::Unavailable(inner) | Error::Uncounted(inner) => {
            tracing::warn!(request_id, error = %inner, path = ?error.path, "unknown outcome");
        }
        Error::Timeout(inner) => {
            tracing::warn!(request_id, error = %inner, path = ?error.path, "took too long");
        }
        Error::Unread(inner) => {
            tracing::warn!(request_id, error = %inner, path = ?error.path, "not read");
        }
        Error::TooComplex { limit, .. } => extensions.set("limit", *limit),
        Error::BadInput { field, .. } => extensions.set("field", field.as_ref()),
        _ => {}
    }
    if known.is_retryable() {
        extensions.set("retryable", true);
    }
}
