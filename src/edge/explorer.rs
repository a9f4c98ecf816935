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
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};
use serde::Serialize;

use super::Edge;
use crate::error::{Error, Result};

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

/// The examples, a list of operations with their variables.
const EXAMPLES: &str = include_str!("examples.json");

/// The examples at a time, in milliseconds since 1970. Dates are written as `{25 days ago}`, so that the demo has data for them
/// whenever it is started.
fn examples(now: i64) -> Result<String> {
    let now = Timestamp::from_millisecond(now).map_err(Error::internal)?;
    let today = now.to_zoned_datetime(TimeZone::UTC).date();
    let before = |date: Date, days: i64| date.checked_sub(days.days()).map_err(Error::internal);
    let last = before(today.first_of_month(), 1)?;
    let mut text = EXAMPLES.to_owned();
    for (name, date) in [
        ("{25 days ago}", before(today, 25)?),
        ("{24 days ago}", before(today, 24)?),
        ("{first day of last month}", last.first_of_month()),
        ("{last day of last month}", last),
    ] {
        text = text.replace(name, &date.to_string());
    }
    Ok(text)
}

/// Another file of the page. `tokens.json` exists only in the demo.
pub(super) async fn part(
    State(edge): State<Edge>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    if name == "examples.json" {
        return match examples(edge.app.clock().timestamp_millis()) {
            Ok(text) => with_headers(content_type(&name), text),
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        };
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dates_of_examples_are_near_the_present_one() {
        for (now, expected) in [
            (
                "2024-03-01T00:00:00Z",
                ["2024-02-05T09:30", "2024-02-06T00:30", "2024-02-01", "2024-02-29"],
            ),
            (
                "2027-01-10T23:59:59Z",
                ["2026-12-16T09:30", "2026-12-17T00:30", "2026-12-01", "2026-12-31"],
            ),
        ] {
            let now: Timestamp = now.parse().expect("a time");
            let text = examples(now.as_millisecond()).expect("the examples");
            let _list: Vec<serde_json::Value> = serde_json::from_str(&text).expect("JSON");
            for date in expected {
                assert!(text.contains(&format!("\"{date}")), "{date}");
            }
            assert!(!text.contains(" ago}") && !text.contains(" month}"), "a date has no value");
        }
    }
}
