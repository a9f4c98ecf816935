//! Conversion of errors for the client. No other module does this.
//!
//! docgate's own errors have a code and a text that is safe to show. The texts of MongoDB and of libraries are
//! logged once with the request's id, and the client gets a fixed sentence instead.

use std::sync::Arc;

use async_graphql::{ErrorExtensionValues, PathSegment, Pos, Response, ServerError};

use super::wording::reworded;
use crate::error::Error;

/// Maximum number of characters of a message of the GraphQL library.
const LONGEST_MESSAGE: usize = 1_000;

/// A response that holds only an error.
pub fn refused(error: Error) -> Response {
    let mut error = async_graphql::Error::from(error).into_server_error(Pos::default());
    // The error concerns the request, not a position in the document.
    error.locations.clear();
    Response::from_errors(vec![error])
}

/// A response that holds only an error, [finished](finish) for the client.
pub fn finished(error: Error, request_id: &str) -> Response {
    finish(refused(error), request_id)
}

/// Sets the code of every error of a response, and replaces texts that clients must not see.
pub fn finish(mut response: Response, request_id: &str) -> Response {
    for error in &mut response.errors {
        finish_one(error, request_id);
    }
    response
}

/// Marks failed reads of a mutation as unknown outcomes, because the mutation may have written before the read. The refusal
/// of a field of its result at a limit doesn't say that nothing was written: the mutation was executed before it. It isn't
/// an unknown outcome, nor is it logged: a client can cause any number of them.
pub fn mark_unknown_outcomes(response: &mut Response) {
    for error in &mut response.errors {
        let source = error.source.as_ref().and_then(|source| source.downcast_ref::<Error>());
        let is_of_result = error.path.len() > 1;
        let marked = match source {
            Some(Error::Timeout(inner) | Error::Unread(inner)) => {
                Error::unavailable(format!("a read failed: {inner}"))
            }
            Some(Error::RateLimited(_) | Error::Overloaded) if is_of_result => Error::Unshown,
            _ => continue,
        };
        error.message = marked.to_string();
        error.source = Some(Arc::new(marked));
    }
}

fn finish_one(error: &mut ServerError, request_id: &str) {
    let extensions = error.extensions.get_or_insert_with(ErrorExtensionValues::default);
    if extensions.get("code").is_some() {
        return;
    }
    let Some(source) = &error.source else {
        // An error without a source is async-graphql's own. It concerns the document or its variables.
        extensions.set("code", "BAD_USER_INPUT");
        if let Some(other) = reworded(&error.message) {
            error.message = other;
        }
        // The message may contain the whole text of the request.
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
        tracing::error!(
            event = "foreign_error",
            request_id,
            detail = error.message,
            "an error of a foreign type",
        );
        extensions.set("code", "INTERNAL_SERVER_ERROR");
        extensions.set("requestId", request_id);
        "internal error".clone_into(&mut error.message);
        return;
    };
    extensions.set("code", known.code());
    log(known, request_id, &error.path);
    match known {
        Error::Internal(_) | Error::NewerVersion(_) => extensions.set("requestId", request_id),
        Error::TooComplex { limit, .. } => extensions.set("limit", *limit),
        Error::BadInput { field, .. } => extensions.set("field", field.as_ref()),
        _ => {}
    }
    if known.is_retryable() {
        extensions.set("retryable", true);
    }
}

/// Logs an error that an operator has to know of.
fn log(known: &Error, request_id: &str, path: &[PathSegment]) {
    match known {
        Error::Internal(inner) => {
            tracing::error!(
                event = "internal_error",
                request_id,
                error = %inner,
                ?path,
                "internal error",
            );
        }
        Error::NewerVersion(inner) => {
            tracing::error!(
                event = "newer_version",
                request_id,
                error = %inner,
                ?path,
                "a document is of a version that this docgate doesn't know",
            );
        }
        Error::Unavailable(inner) | Error::Uncounted(inner) => {
            tracing::warn!(
                event = "outcome_unknown",
                request_id,
                error = %inner,
                ?path,
                "the outcome of a write is unknown",
            );
        }
        Error::Timeout(inner) => {
            tracing::warn!(
                event = "operation_timed_out",
                request_id,
                error = %inner,
                ?path,
                "an operation took too long",
            );
        }
        Error::Unread(inner) => {
            tracing::warn!(
                event = "read_failed",
                request_id,
                error = %inner,
                ?path,
                "a read failed",
            );
        }
        _ => {}
    }
}
