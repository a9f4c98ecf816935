//! `POST /graphql`.

use std::{mem, panic::AssertUnwindSafe, sync::Mutex};

use async_graphql::{Pos, Request, Response, ServerError, value};
use axum::{
    body::Bytes,
    extract::{FromRequest, State, rejection::BytesRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header::CONTENT_TYPE},
    response::IntoResponse,
};
use futures_util::FutureExt;

use super::Edge;
use crate::{
    app::App,
    error::Error,
    graphql::{errors, requester::Role},
    mongo::{explain, observe},
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
    let request_id = request_id(&edge, &headers);
    let (status, response) = match respond(&edge, &headers, body, &request_id).await {
        Ok(response) => (StatusCode::OK, response),
        Err((status, error)) => {
            let response = Response::from_errors(vec![as_server_error(error)]);
            (status, errors::finish(response, &request_id))
        }
    };
    let body = serde_json::to_vec(&response).unwrap_or_default();
    let mut head = HeaderMap::new();
    head.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Ok(id) = HeaderValue::from_str(&request_id) {
        head.insert(REQUEST_ID, id);
    }
    (status, head, body)
}

async fn respond(
    edge: &Edge,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
    request_id: &str,
) -> Result<Response, (StatusCode, Error)> {
    let requester =
        edge.authenticator.requester(headers).map_err(|error| (StatusCode::UNAUTHORIZED, error))?;
    let body = body.map_err(|rejection| {
        let most = edge.app.config().body_bytes;
        let reason = format!("can't be read, or is larger than {most} bytes");
        (rejection.status(), Error::bad_input("body", reason))
    })?;
    let request: Request = serde_json::from_slice(&body).map_err(|fault| {
        let reason = format!("isn't a GraphQL request in JSON: {fault}");
        (StatusCode::BAD_REQUEST, Error::bad_input("body", reason))
    })?;
    let explained = edge.app.config().development
        || (headers.contains_key(EXPLAIN) && requester.has(Role::Admin));
    let request = request.data(edge.app.clone()).data(requester);
    let log = explained.then(observe::Log::default);
    let schema = edge.schema.clone();
    let prepared = schema.prepare(request);
    let is_known = prepared.is_known();
    edge.app.metrics().request(is_known);
    let must_end = prepared.is_mutation();
    let collected = log.clone();
    let execution = async move {
        match collected {
            Some(log) => observe::collect(log, schema.execute(prepared)).await,
            None => schema.execute(prepared).await,
        }
    };
    let executed = if must_end {
        // A task of its own: a client that hangs up drops this handler, and must not cut a flow in
        // the middle. Shutdown waits for it. What a query sends has tasks of its own anyway.
        edge.app.tasks().spawn(execution).await.map_err(Error::internal)
    } else {
        let executed = AssertUnwindSafe(execution).catch_unwind().await;
        executed.map_err(|_reported| Error::internal("the execution panicked"))
    };
    let response = executed.map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error))?;
    let mut response = errors::finish(response, request_id);
    if let Some(log) = log {
        let commands = commands(&edge.app, &log).await;
        let told = value!({ "commands": commands, "knownText": is_known });
        response.extensions.insert("docgate".to_owned(), told);
    }
    Ok(response)
}

/// What the request sent. Reads are asked again under `explain`.
async fn commands(app: &App, log: &Mutex<Vec<observe::Sent>>) -> Vec<async_graphql::Value> {
    let sent = log.lock().map(|sent| sent.clone()).unwrap_or_default();
    let mut commands = Vec::new();
    for sent in sent {
        let figures = match sent.read {
            Some(read) => explain::figures(app.database(), read).await.ok(),
            None => None,
        };
        commands.push(value!({
            "collection": sent.collection,
            "command": sent.command,
            "keysExamined": (figures.map(|figures| figures.keys_examined)),
            "docsExamined": (figures.map(|figures| figures.docs_examined)),
            "returned": (figures.map(|figures| figures.returned)),
            "millis": ((sent.took.as_secs_f64() * 1_000_000.0).round() / 1000.0),
        }));
    }
    commands
}

fn request_id(edge: &Edge, headers: &HeaderMap) -> String {
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

fn as_server_error(error: Error) -> ServerError {
    let mut error = async_graphql::Error::from(error).into_server_error(Pos::default());
    // It is about the request, not about a place in its text.
    error.locations.clear();
    error
}
