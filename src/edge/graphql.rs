//! `POST /graphql`.

use std::mem;

use async_graphql::{Request, Response};
use axum::{
    body::Bytes,
    extract::{FromRequest, State, rejection::BytesRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header::CONTENT_TYPE},
    response::IntoResponse,
};

use super::{
    Edge,
    execution::{Call, refused},
};
use crate::{
    error::Error,
    graphql::{errors, requester::Role},
};

/// Header with the request's id, taken from the client when it is sound and sent back.
const REQUEST_ID: &str = "x-request-id";
/// Header with which an admin asks what a request sent to MongoDB.
const EXPLAIN: &str = "x-docgate-explain";

pub(super) async fn execute(
    State(edge): State<Edge>,
    mut request: axum::extract::Request,
) -> impl IntoResponse {
    let headers = mem::take(request.headers_mut());
    let body = Bytes::from_request(request, &()).await;
    let id = request_id(&edge, &headers);
    let (status, response) = match respond(&edge, &headers, body, &id).await {
        Ok(response) => (StatusCode::OK, response),
        Err((status, error)) => (status, errors::finish(refused(error), &id)),
    };
    let body = serde_json::to_vec(&response).unwrap_or_default();
    let mut head = HeaderMap::new();
    head.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Ok(id) = HeaderValue::from_str(&id) {
        head.insert(REQUEST_ID, id);
    }
    (status, head, body)
}

async fn respond(
    edge: &Edge,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
    id: &str,
) -> Result<Response, (StatusCode, Error)> {
    let caller = edge.authenticator.caller(headers).await;
    let caller = caller.map_err(|error| (StatusCode::UNAUTHORIZED, error))?;
    let body = body.map_err(|rejection| {
        let most = edge.app.config().body_bytes;
        let reason = format!("can't be read, or is larger than {most} bytes");
        (rejection.status(), Error::bad_input("body", reason))
    })?;
    let request: Request = serde_json::from_slice(&body).map_err(|fault| {
        let reason = format!("isn't a GraphQL request in JSON: {fault}");
        (StatusCode::BAD_REQUEST, Error::bad_input("body", reason))
    })?;
    let is_explained = edge.app.config().development
        || (headers.contains_key(EXPLAIN) && caller.requester.has(Role::Admin));
    let id = id.to_owned();
    Ok(edge.execute(Call { request, caller, id, is_explained }).await)
}

/// The request's id: the client's own where it is sound, else a new one.
pub(super) fn request_id(edge: &Edge, headers: &HeaderMap) -> String {
    let sound = |id: &&str| {
        (1..=64).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    headers
        .get(REQUEST_ID)
        .and_then(|id| id.to_str().ok())
        .filter(sound)
        .map_or_else(|| edge.app.ids().random(), str::to_owned)
}
