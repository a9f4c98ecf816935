//! GraphiQL, where it was built before the binary was (`web/graphiql/`). It needs no other host.

use std::io::Read;

use axum::{
    extract::Path,
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{
            ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
            CONTENT_TYPE, ETAG, HeaderName, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
        },
    },
    response::{IntoResponse, Response},
};
use flate2::read::GzDecoder;

use super::{
    explorer::content_type,
    negotiation::{entries, is_known},
};

/// Its files by name, each gzipped; `build.rs` lists them. None without `cfg(graphiql)`.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/graphiql.rs"));

/// Name of the page among the files.
const PAGE: &str = "index.html";

const NOT_THERE: &str = "GraphiQL isn't in this binary. Run `npm ci --ignore-scripts && npm run build` in web/graphiql, \
     then build docgate again. The explorer at / needs neither.\n";

/// What the page may do. Monaco, its editor, writes the colours of its themes into `style` elements and
/// places what it draws by `style` attributes: hence `unsafe-inline`, for styles alone. It underlines
/// errors with pictures from `data:` addresses. Scripts, workers, fonts and connections are all
/// docgate's own.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
     frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// The page.
pub(super) async fn page(headers: HeaderMap) -> Response {
    match find(PAGE) {
        Some(gzipped) => file(PAGE, gzipped, &headers).await,
        None => (StatusCode::NOT_FOUND, NOT_THERE).into_response(),
    }
}

/// A part of it.
pub(super) async fn part(Path(name): Path<String>, headers: HeaderMap) -> Response {
    match find(&name) {
        // The page's links hold from its own address alone.
        Some(gzipped) if name != PAGE => file(&name, gzipped, &headers).await,
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn find(name: &str) -> Option<&'static [u8]> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, gzipped)| *gzipped)
}

async fn file(name: &str, gzipped: &'static [u8], headers: &HeaderMap) -> Response {
    let tag = entity_tag(gzipped);
    let mut head = HeaderMap::new();
    let mut set = |name: HeaderName, value: &'static str| {
        head.insert(name, HeaderValue::from_static(value));
    };
    set(CACHE_CONTROL, cache_control(name));
    set(CONTENT_SECURITY_POLICY, POLICY);
    set(REFERRER_POLICY, "no-referrer");
    set(VARY, "accept-encoding");
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    head.extend(HeaderValue::from_str(&tag).map(|tag| (ETAG, tag)));
    if is_known(headers, &tag) {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    head.insert(CONTENT_TYPE, HeaderValue::from_static(content_type(name)));
    if takes_gzip(headers) {
        head.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        return (head, gzipped).into_response();
    }
    match tokio::task::spawn_blocking(|| inflated(gzipped)).await {
        Ok(Ok(text)) => (head, text).into_response(),
        _ => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Names hold a hash of the contents, but for those of the page and of the licences.
fn cache_control(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html" | "txt") => "no-cache",
        _ => "public, max-age=31536000, immutable",
    }
}

/// A gzip file ends with the checksum and the length of what is in it
/// ([RFC 1952](https://www.rfc-editor.org/rfc/rfc1952#page-5)). The tag is weak because it stands for
/// both encodings.
fn entity_tag(gzipped: &[u8]) -> String {
    let trailer = gzipped.last_chunk().copied().map_or(0, u64::from_be_bytes);
    format!("W/\"{trailer:016x}\"")
}

/// Whether the client takes gzip
/// ([RFC 9110](https://www.rfc-editor.org/rfc/rfc9110#name-accept-encoding)). What it says of gzip
/// itself goes before what it says of any coding.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let weight = |coding| entries(headers, ACCEPT_ENCODING).find_map(|entry| weight(entry, coding));
    weight("gzip").or_else(|| weight("*")).is_some_and(|weight| weight > 0.0)
}

/// What an entry such as `gzip;q=0.5` says of a coding, if anything.
fn weight(entry: &str, coding: &str) -> Option<f32> {
    let (name, parameter) = entry.split_once(';').unwrap_or((entry, "q=1"));
    if !name.trim().eq_ignore_ascii_case(coding) {
        return None;
    }
    parameter.trim().strip_prefix("q=")?.parse().ok()
}

fn inflated(gzipped: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    GzDecoder::new(gzipped).read_to_end(&mut text)?;
    Ok(text)
}
