//! Web apps that were built before the binary, and are embedded in it. They need no other host.

use std::io::Read;

use axum::{
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

/// Name of the page among the files.
const PAGE: &str = "index.html";

/// The files of an app, as `build.rs` lists them, and how they are served.
pub(super) struct Bundle {
    /// The gzipped files by name. Empty if the app wasn't built.
    pub files: &'static [(&'static str, &'static [u8])],
    /// Content security policy.
    pub policy: &'static str,
    /// What the page says if the app wasn't built.
    pub not_there: &'static str,
}

impl Bundle {
    /// The page, or what is to be done to have it.
    pub(super) async fn page(&self, headers: &HeaderMap) -> Response {
        match self.find(PAGE) {
            Some(gzipped) => self.file(PAGE, gzipped, headers).await,
            None => (StatusCode::NOT_FOUND, self.not_there).into_response(),
        }
    }

    /// Another file. The page has an address of its own.
    pub(super) async fn part(&self, name: &str, headers: &HeaderMap) -> Response {
        match self.find(name) {
            Some(gzipped) if name != PAGE => self.file(name, gzipped, headers).await,
            _ => StatusCode::NOT_FOUND.into_response(),
        }
    }

    fn find(&self, name: &str) -> Option<&'static [u8]> {
        self.files.iter().find(|(known, _)| *known == name).map(|(_, gzipped)| *gzipped)
    }

    async fn file(&self, name: &str, gzipped: &'static [u8], headers: &HeaderMap) -> Response {
        let tag = entity_tag(gzipped);
        let mut head = HeaderMap::new();
        let mut set = |name: HeaderName, value: &'static str| {
            head.insert(name, HeaderValue::from_static(value));
        };
        set(CACHE_CONTROL, cache_control(name));
        set(CONTENT_SECURITY_POLICY, self.policy);
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
}

/// File names contain a hash of the contents, except those of the page and of the licences.
fn cache_control(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html" | "txt") => "no-cache",
        _ => "public, max-age=31536000, immutable",
    }
}

/// The entity tag of a file, made from the checksum and the length at the end of its gzip stream
/// ([RFC 1952](https://www.rfc-editor.org/rfc/rfc1952#page-5)). The tag is weak because it stands for both
/// encodings.
fn entity_tag(gzipped: &[u8]) -> String {
    let trailer = gzipped.last_chunk().copied().map_or(0, u64::from_be_bytes);
    format!("W/\"{trailer:016x}\"")
}

/// Whether the client accepts gzip ([RFC 9110](https://www.rfc-editor.org/rfc/rfc9110#name-accept-encoding)).
/// An entry for `gzip` takes precedence over `*`.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let weight = |coding| entries(headers, ACCEPT_ENCODING).find_map(|entry| weight(entry, coding));
    weight("gzip").or_else(|| weight("*")).is_some_and(|weight| weight > 0.0)
}

/// The weight in an entry such as `gzip;q=0.5`, if it is for this coding.
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
