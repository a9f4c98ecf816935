//! The requests that reserve a stream, open it, and say what it is to carry.

use std::{net::IpAddr, sync::Arc};

use axum::{
    Extension,
    body::Bytes,
    extract::{Query, State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::{MethodRouter, put},
};
use futures_util::{StreamExt, stream};
use serde::Deserialize;

use super::{Open, Refused};
use crate::{
    edge::{
        Edge,
        auth::Caller,
        execution::Call,
        live::{
            body, busy, events, refusal,
            sse::{BEAT, event_stream},
        },
        parameters::{Parameters, is_json},
        refusal::with_status,
        server::Peer,
    },
    error::Error,
};

/// Header with the token of a reservation.
const TOKEN: &str = "x-graphql-event-stream-token";

/// What a URL may carry.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    token: Option<String>,
    operation_id: Option<String>,
}

/// `PUT` reserves a stream, `GET` opens it, `POST` lets an operation begin on it, `DELETE` ends one.
pub(in crate::edge) fn routes() -> MethodRouter<Edge> {
    put(async |State(edge): State<Edge>, headers: HeaderMap| {
        reserve(&edge, &headers).await.unwrap_or_else(refused)
    })
    .get(async |State(edge): State<Edge>, Query(asked): Query<Asked>, headers: HeaderMap| {
        open(edge, &headers, &asked).await.unwrap_or_else(refused)
    })
    .post(
        async |State(edge): State<Edge>,
               Query(asked): Query<Asked>,
               Extension(Peer(peer)): Extension<Peer>,
               headers: HeaderMap,
               body: Result<Bytes, BytesRejection>| {
            let address = edge.limits.address(&headers, peer.ip());
            begin(&edge, &headers, address, &asked, body).await.unwrap_or_else(refused)
        },
    )
    .delete(
        async |State(edge): State<Edge>, Query(asked): Query<Asked>, headers: HeaderMap| {
            stop(&edge, &headers, &asked).await.unwrap_or_else(refused)
        },
    )
}

fn refused((status, error): Refused) -> Response {
    refusal(status, error)
}

async fn reserve(edge: &Edge, headers: &HeaderMap) -> Result<Response, Refused> {
    let owner = caller(edge, headers).await?;
    let token = edge.app.ids().random();
    edge.live.reservations.reserve(token.clone(), owner)?;
    let head = [(CONTENT_TYPE, "text/plain; charset=utf-8")];
    Ok((StatusCode::CREATED, head, token).into_response())
}

async fn open(edge: Edge, headers: &HeaderMap, asked: &Asked) -> Result<Response, Refused> {
    let caller = caller(&edge, headers).await?;
    let token = token(headers, asked)?;
    let place = edge.live.admit().ok_or_else(|| (StatusCode::SERVICE_UNAVAILABLE, busy()))?;
    let (owner, waiting) = edge.live.reservations.open(&token, &caller)?;
    let live = Arc::clone(&edge.live);
    let chunks = Open { edge, token }.chunks(&owner, waiting);
    let chunks = stream::iter([BEAT.to_owned()]).chain(chunks);
    Ok(event_stream(body(&live, place, BEAT, chunks)))
}

async fn begin(
    edge: &Edge,
    headers: &HeaderMap,
    address: IpAddr,
    asked: &Asked,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refused> {
    let caller = caller(edge, headers).await?;
    let token = token(headers, asked)?;
    if !is_json(headers) {
        let error = Error::bad_input("content-type", "isn't application/json");
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, error));
    }
    let body = body.map_err(|rejection| {
        (rejection.status(), Error::bad_input("body", "can't be read, or is too large"))
    })?;
    let parameters = Parameters::read("body", &body);
    let parameters = parameters.map_err(|fault| (StatusCode::BAD_REQUEST, fault))?;
    let id = parameters.operation_id().ok_or_else(missing)?;
    let call = Call { parameters, caller: caller.clone(), address };
    let events = events(edge, edge.follow(call), &caller);
    edge.live.reservations.begin(&token, &caller, id, events)?;
    Ok(StatusCode::ACCEPTED.into_response())
}

async fn stop(edge: &Edge, headers: &HeaderMap, asked: &Asked) -> Result<Response, Refused> {
    let caller = caller(edge, headers).await?;
    let token = token(headers, asked)?;
    let id = asked.operation_id.as_deref().filter(|id| !id.is_empty()).ok_or_else(missing)?;
    edge.live.reservations.stop(&token, &caller, id)?;
    Ok(StatusCode::OK.into_response())
}

async fn caller(edge: &Edge, headers: &HeaderMap) -> Result<Caller, Refused> {
    let caller = edge.authenticator.caller(headers).await;
    caller.map_err(with_status)
}

fn token(headers: &HeaderMap, asked: &Asked) -> Result<String, Refused> {
    let by_header = headers.get(TOKEN).and_then(|token| token.to_str().ok());
    let token = by_header.or(asked.token.as_deref()).filter(|token| !token.is_empty());
    let reason = "isn't there: reserve an event stream with PUT, and send what that answers";
    let missing = || (StatusCode::NOT_FOUND, Error::bad_input("token", reason));
    token.map(str::to_owned).ok_or_else(missing)
}

fn missing() -> Refused {
    (StatusCode::BAD_REQUEST, Error::bad_input("operationId", "isn't there"))
}
