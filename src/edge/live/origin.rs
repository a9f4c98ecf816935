//! Which pages may open a WebSocket that is authenticated by a cookie. Browsers send cookies with a WebSocket
//! handshake, and there is no CORS preflight:
//! <https://datatracker.ietf.org/doc/html/rfc6455#section-10.2>

use axum::http::{
    HeaderMap,
    header::{HOST, ORIGIN},
};

/// Whether the page's origin is this host or an allowed origin. A request without `Origin` doesn't come from
/// a page and is allowed.
pub(in crate::edge) fn origin_is_allowed(headers: &HeaderMap, allowed: &[String]) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return true };
    let Ok(origin) = origin.to_str() else { return false };
    let is_of_host = origin.split_once("://").is_some_and(|(_, authority)| {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        host.is_some_and(|host| host.eq_ignore_ascii_case(authority))
    });
    is_of_host || allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin))
}
