//! The explorer, a small page without external resources. It needs no build step besides cargo.

use axum::{
    extract::{Path, State},
    http::{
        HeaderMap, StatusCode,
        header::{
            CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
        },
    },
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::Edge;

/// Tokens of the demo's users, which the page offers.
#[derive(Debug, Clone, Serialize)]
pub struct DemoTokens {
    /// Token of a shopper.
    pub shopper: String,
    /// Token of a merchant.
    pub merchant: String,
    /// Token of an admin.
    pub admin: String,
}

/// The page's files, by path below the root.
const FILES: &[(&str, &str)] = &[
    ("explorer.css", include_str!("explorer.css")),
    ("explorer.js", include_str!("explorer.js")),
    ("explorer/examples.json", include_str!("examples.json")),
    ("explorer/completion.js", include_str!("explorer/completion.js")),
    ("explorer/documentation.js", include_str!("explorer/documentation.js")),
    ("explorer/dom.js", include_str!("explorer/dom.js")),
    ("explorer/editor.js", include_str!("explorer/editor.js")),
    ("explorer/examples.js", include_str!("explorer/examples.js")),
    ("explorer/excerpt.js", include_str!("explorer/excerpt.js")),
    ("explorer/highlight.js", include_str!("explorer/highlight.js")),
    ("explorer/history.js", include_str!("explorer/history.js")),
    ("explorer/icon.svg", include_str!("explorer/icon.svg")),
    ("explorer/lexer.js", include_str!("explorer/lexer.js")),
    ("explorer/origins.js", include_str!("explorer/origins.js")),
    ("explorer/requests.js", include_str!("explorer/requests.js")),
    ("explorer/response.js", include_str!("explorer/response.js")),
    ("explorer/schema.js", include_str!("explorer/schema.js")),
    ("explorer/skeleton.js", include_str!("explorer/skeleton.js")),
    ("explorer/splitter.js", include_str!("explorer/splitter.js")),
    ("explorer/storage.js", include_str!("explorer/storage.js")),
    ("explorer/suggestions.js", include_str!("explorer/suggestions.js")),
    ("explorer/token.js", include_str!("explorer/token.js")),
    ("explorer/views.js", include_str!("explorer/views.js")),
];

/// The link from the page to GraphiQL, removed if the binary doesn't contain GraphiQL.
const GRAPHIQL_LINK: &str = "<a class=\"quiet\" href=\"graphiql\">GraphiQL</a>";

/// The link to the storefront, removed unless this is a demo with the storefront.
const SHOP_LINK: &str = "<a class=\"quiet\" href=\"shop\">Shop</a>";

/// The page.
pub(super) async fn page(State(edge): State<Edge>) -> Response {
    let mut text = include_str!("explorer.html").to_owned();
    if !cfg!(graphiql) {
        text = text.replace(GRAPHIQL_LINK, "");
    }
    if !cfg!(storefront) || edge.demo.is_none() {
        text = text.replace(SHOP_LINK, "");
    }
    with_headers(content_type(""), text)
}

/// The style sheet.
pub(super) async fn style() -> Response {
    file("explorer.css")
}

/// The main script.
pub(super) async fn script() -> Response {
    file("explorer.js")
}

/// Another file of the page. `tokens.json` exists only in the demo.
pub(super) async fn part(
    State(edge): State<Edge>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    if name != "tokens.json" {
        return file(&format!("explorer/{name}"));
    }
    if !has_local_host(&headers) {
        return StatusCode::NO_CONTENT.into_response();
    }
    match edge.demo.as_deref().map(serde_json::to_string) {
        Some(Ok(tokens)) => with_headers("application/json", tokens),
        _ => StatusCode::NO_CONTENT.into_response(),
    }
}

/// Whether the `Host` header is an IP address or `localhost`. This prevents DNS rebinding: a page of another
/// site can point its own host name to this server and read the response, but it can't do so with an address
/// or `localhost`.
fn has_local_host(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, port)| {
        if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host }
    });
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<std::net::IpAddr>().is_ok()
}

fn file(path: &str) -> Response {
    let Some((_, text)) = FILES.iter().find(|(known, _)| *known == path) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    with_headers(content_type(path), (*text).to_owned())
}

/// The content type for a file name, by its extension.
pub(super) fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("ttf") => "font/ttf",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "text/html; charset=utf-8",
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
