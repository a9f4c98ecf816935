//! `GET /feeds/{path}.atom`: the newest content below a path, at any depth, as visible to everyone.

use axum::{
    extract::{Path, Request, State},
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, LOCATION, X_CONTENT_TYPE_OPTIONS},
    },
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use sha2::{Digest, Sha256};

use super::{
    Edge,
    error_response::{ErrorResponse, code_only, not_found, with_status},
    negotiation::is_known,
    shares::Client,
};
use crate::{
    domains::content::atom::{self, Found},
    error::Error,
};

/// Caching of feeds and of redirects to moved feeds.
const CACHE: HeaderValue = HeaderValue::from_static("public, max-age=60");

pub(super) async fn feed(
    State(edge): State<Edge>,
    Path(path): Path<String>,
    request: Request,
) -> Response {
    let (head, _) = request.into_parts();
    let client = edge.limits.client(None, edge.address(&head));
    let answered = match edge.limits.admit(client) {
        Ok(()) => find(&edge, &path, client).await,
        Err(error) => Err(with_status(error)),
    };
    match answered {
        Ok(Some(Found::Feed(xml))) => feed_response(xml, &head.headers),
        Ok(Some(Found::Moved(path))) => redirect(&path),
        Ok(None) => not_found("there is no feed at this path"),
        Err((status, error)) => {
            if status.is_server_error() {
                tracing::warn!(event = "feed_failed", ?error, "a feed could not be read");
            }
            code_only((status, error))
        }
    }
}

async fn find(edge: &Edge, path: &str, client: Client) -> Result<Option<Found>, ErrorResponse> {
    let Some(path) = path.strip_suffix(".atom") else { return Ok(None) };
    let site = edge.app.config().site_url.as_deref().unwrap_or_default();
    let path = format!("/{path}");
    match edge.work(client, atom::feed(&edge.app, site, &path)).await {
        // Nothing exists at an invalid path.
        Err(Error::BadInput { .. }) => Ok(None),
        found => found.map_err(with_status),
    }
}

fn feed_response(xml: String, request: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", BASE64.encode(&Sha256::digest(&xml)[..16]));
    let mut head = HeaderMap::new();
    head.insert(CACHE_CONTROL, CACHE);
    head.extend(HeaderValue::from_str(&tag).map(|tag| (ETAG, tag)));
    if is_known(request, &tag) {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    head.insert(CONTENT_TYPE, HeaderValue::from_static("application/atom+xml; charset=utf-8"));
    head.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    (head, xml).into_response()
}

/// Redirects to the feed of content that has moved.
fn redirect(path: &str) -> Response {
    let mut head = HeaderMap::new();
    head.insert(CACHE_CONTROL, CACHE);
    head.extend(HeaderValue::try_from(format!("/feeds{path}.atom")).map(|to| (LOCATION, to)));
    (StatusCode::MOVED_PERMANENTLY, head).into_response()
}
