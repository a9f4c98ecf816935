//! `GET /ads/click/{token}` redirects to the target of an ad's campaign and counts the click. `GET /ads/pixel/{token}` is
//! a transparent picture of one pixel that counts a view. Both are for pages without scripts.

use axum::{
    extract::{Path, Request, State},
    http::{
        HeaderMap, HeaderValue, Method, StatusCode,
        header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS},
    },
    response::{IntoResponse, Response},
};

use super::{
    Edge,
    error_response::{ErrorResponse, code_only, not_found, with_status},
};
use crate::{
    app::App,
    domains::ads::operations::{follow_click, show_pixel},
    error::Error,
};

/// Every request has to reach the gateway.
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// A transparent picture of one pixel, in the format `GIF89a`.
const PIXEL: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00\
    \x21\xf9\x04\x01\x00\x00\x00\x00\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b";

/// `GET /ads/click/{token}`.
pub(super) async fn click(
    State(edge): State<Edge>,
    Path(token): Path<String>,
    request: Request,
) -> Response {
    let counts = counts(&request);
    let work = async |app: App| follow_click(&app, &token, counts).await;
    match answer(&edge, request, work).await {
        Ok(Some(target)) => match HeaderValue::try_from(target) {
            Ok(target) => {
                let no_referrer = HeaderValue::from_static("no-referrer");
                let mut head =
                    HeaderMap::from_iter([(LOCATION, target), (CACHE_CONTROL, NO_STORE)]);
                // The address of the click contains its token.
                head.insert(REFERRER_POLICY, no_referrer);
                (StatusCode::FOUND, head).into_response()
            }
            Err(_) => not_found("there is no such ad"),
        },
        Ok(None) => not_found("there is no such ad, or its token has expired"),
        Err(error) => failed(error),
    }
}

/// `GET /ads/pixel/{token}`.
pub(super) async fn pixel(
    State(edge): State<Edge>,
    Path(token): Path<String>,
    request: Request,
) -> Response {
    let counts = counts(&request);
    let work = async |app: App| show_pixel(&app, &token, counts).await;
    match answer(&edge, request, work).await {
        Ok(true) => {
            let head = HeaderMap::from_iter([
                (CONTENT_TYPE, HeaderValue::from_static("image/gif")),
                (CACHE_CONTROL, NO_STORE),
                (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            ]);
            (head, PIXEL).into_response()
        }
        Ok(false) => not_found("there is no such ad, or its token has expired"),
        Err(error) => failed(error),
    }
}

/// Whether a request is one of a visitor. `HEAD` is how programs look at links.
fn counts(request: &Request) -> bool {
    *request.method() == Method::GET
}

/// Does the work within the limits of the client and of the gateway.
async fn answer<T>(
    edge: &Edge,
    request: Request,
    work: impl AsyncFnOnce(App) -> Result<T, Error>,
) -> Result<T, ErrorResponse> {
    let (head, _) = request.into_parts();
    let client = edge.limits.client(None, edge.address(&head));
    edge.limits.admit(client).map_err(with_status)?;
    edge.work(client, work(edge.app.clone())).await.map_err(with_status)
}

fn failed((status, error): ErrorResponse) -> Response {
    if status.is_server_error() {
        tracing::warn!(
            event = "ad_request_failed",
            ?error,
            "a click or a view could not be counted"
        );
    }
    code_only((status, error))
}
