//! The requests that reserve and open a stream, and that start and stop operations on it.

use axum::{
    body::Body,
    extract::{Request, State},
    http::{
        Method, StatusCode,
        header::{ALLOW, CONTENT_TYPE},
        request::Parts,
    },
    response::{IntoResponse, Response},
    routing::{MethodRouter, put},
};
use futures_util::{StreamExt, stream};

use super::Open;
use crate::{
    edge::{
        Edge,
        error_response::{ErrorResponse, no_such_method, with_status},
        execution::Call,
        live::{
            body, events, http_error,
            sse::{HEARTBEAT, event_stream},
        },
        parameters::{MAX_ID, Parameters, is_json},
    },
    error::Error,
};

/// Header with the token of a reservation.
const TOKEN: &str = "x-graphql-event-stream-token";
/// The methods of the path.
const METHODS: &str = "PUT, GET, POST, DELETE";

/// `PUT` reserves a stream, `GET` opens it, `POST` starts an operation on it, and `DELETE` stops one.
pub(in crate::edge) fn routes() -> MethodRouter<Edge> {
    put(async |State(edge): State<Edge>, request: Request| {
        reserve(&edge, &request.into_parts().0).await.unwrap_or_else(http_error)
    })
    .get(async |State(edge): State<Edge>, request: Request| {
        open(edge, &request.into_parts().0).await.unwrap_or_else(http_error)
    })
    // Otherwise axum would route `HEAD` to `GET`, which opens the stream without showing it.
    .head(other_method)
    .fallback(other_method)
    .post(async |State(edge): State<Edge>, request: Request| {
        let (head, body) = request.into_parts();
        begin(&edge, &head, body).await.unwrap_or_else(http_error)
    })
    .delete(async |State(edge): State<Edge>, request: Request| {
        stop(&edge, &request.into_parts().0).await.unwrap_or_else(http_error)
    })
}

/// Answers another method. axum would say that the path takes `HEAD`.
async fn other_method(method: Method) -> Response {
    ([(ALLOW, METHODS)], no_such_method(method).await).into_response()
}

async fn reserve(edge: &Edge, head: &Parts) -> Result<Response, ErrorResponse> {
    let owner = edge.caller(head).await.map_err(with_status)?;
    let token = edge.app.ids().random();
    let client = edge.client(&owner, head);
    edge.live.reservations.reserve(token.clone(), owner, client)?;
    let head = [(CONTENT_TYPE, "text/plain; charset=utf-8")];
    Ok((StatusCode::CREATED, head, token).into_response())
}

async fn open(edge: Edge, head: &Parts) -> Result<Response, ErrorResponse> {
    let caller = edge.caller(head).await.map_err(with_status)?;
    let token = token(head)?;
    let client = edge.client(&caller, head);
    let permit = edge.live.admit(client)?;
    let (owner, added) = edge.live.reservations.open(&token, &caller)?;
    let chunks = Open { edge: edge.clone(), token }.chunks(&owner, added);
    let chunks = stream::iter([HEARTBEAT.to_owned()]).chain(chunks);
    Ok(event_stream(body(&edge, (client, permit), HEARTBEAT, chunks)))
}

async fn begin(edge: &Edge, head: &Parts, body: Body) -> Result<Response, ErrorResponse> {
    let caller = edge.caller(head).await.map_err(with_status)?;
    let token = token(head)?;
    if !is_json(&head.headers) {
        let error = Error::bad_input("content-type", "isn't application/json");
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, error));
    }
    let body = edge.receive(head, body).await?;
    let parameters = Parameters::read("body", &body);
    let parameters = parameters.map_err(|fault| (StatusCode::BAD_REQUEST, fault))?;
    let id = parameters.operation_id().ok_or_else(missing)?;
    let call = Call { parameters, caller: caller.clone(), address: edge.address(head) };
    let events = events(edge, edge.follow_charged(call), &caller);
    edge.live.reservations.begin(&token, &caller, (id, body.len()), events)?;
    Ok(StatusCode::ACCEPTED.into_response())
}

async fn stop(edge: &Edge, head: &Parts) -> Result<Response, ErrorResponse> {
    let caller = edge.caller(head).await.map_err(with_status)?;
    let token = token(head)?;
    let id = parameter(head, "operationId").filter(|id| !id.is_empty()).ok_or_else(missing)?;
    edge.live.reservations.stop(&token, &caller, &id)?;
    Ok(StatusCode::OK.into_response())
}

fn token(head: &Parts) -> Result<String, ErrorResponse> {
    let by_header = head.headers.get(TOKEN).and_then(|token| token.to_str().ok());
    let token = by_header.map(str::to_owned).or_else(|| parameter(head, "token"));
    let reason = "is missing: reserve an event stream with PUT, and send the token in its response";
    let missing = || (StatusCode::NOT_FOUND, Error::bad_input("token", reason));
    token.filter(|token| !token.is_empty()).ok_or_else(missing)
}

/// The value of a query parameter.
fn parameter(head: &Parts, name: &str) -> Option<String> {
    let query = head.uri.query().unwrap_or_default();
    let mut all = form_urlencoded::parse(query.as_bytes());
    all.find(|(own, _)| own == name).map(|(_, value)| value.into_owned())
}

fn missing() -> ErrorResponse {
    let reason = format!("is missing, or longer than {MAX_ID} bytes");
    (StatusCode::BAD_REQUEST, Error::bad_input("operationId", reason))
}
