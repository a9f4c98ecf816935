//! Whether the process lives, and whether it can serve.

use axum::{extract::State, http::StatusCode};

use super::Edge;
use crate::mongo::connect;

/// The process answers.
pub(super) async fn live() -> &'static str {
    "alive\n"
}

/// The primary answers.
pub(super) async fn ready(State(edge): State<Edge>) -> (StatusCode, &'static str) {
    match connect::ping(edge.app.database()).await {
        Ok(()) => (StatusCode::OK, "ready\n"),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "MongoDB's primary doesn't answer\n"),
    }
}
