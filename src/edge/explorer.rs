//! The explorer: a small page that needs no other host.

use axum::{
    extract::{Path, State},
    http::{
        StatusCode,
        header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS},
    },
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::Edge;

/// Tokens of the demo's people, offered by the page.
#[derive(Debug, Clone, Serialize)]
pub struct DemoTokens {
    /// Someone who shops.
    pub shopper: String,
    /// Someone who runs the shop.
    pub merchant: String,
    /// Someone who may do everything.
    pub admin: String,
}

const HTML: &str = include_str!("explorer.html");
const SCRIPT: &str = include_str!("explorer.js");
const STYLE: &str = include_str!("explorer.css");
const EXAMPLES: &str = include_str!("examples.json");

pub(super) async fn page() -> Response {
    with_headers("text/html; charset=utf-8", HTML.to_owned())
}

pub(super) async fn file(State(edge): State<Edge>, Path(file): Path<String>) -> Response {
    match file.as_str() {
        "explorer.js" => with_headers("text/javascript; charset=utf-8", SCRIPT.to_owned()),
        "explorer.css" => with_headers("text/css; charset=utf-8", STYLE.to_owned()),
        "examples.json" => with_headers("application/json", EXAMPLES.to_owned()),
        "tokens.json" => match edge.demo.as_deref().map(serde_json::to_string) {
            Some(Ok(tokens)) => with_headers("application/json", tokens),
            _ => StatusCode::NOT_FOUND.into_response(),
        },
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn with_headers(content_type: &'static str, body: String) -> Response {
    let head = [
        (CONTENT_TYPE, content_type),
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        ),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (head, body).into_response()
}
