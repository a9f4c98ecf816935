//! Server-sent events with one connection per operation: the "distinct connections mode" of
//! <https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md>

use async_graphql::Response as GraphqlResponse;
use axum::{
    body::Body,
    http::header::{CACHE_CONTROL, CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream::BoxStream};

use super::{End, Event, body, events, graphql_error, http_error, text};
use crate::{
    edge::{Edge, auth::Caller, shares::Client},
    error::Error,
};

/// The heartbeat, a comment:
/// <https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream>
pub(super) const HEARTBEAT: &str = ":\n\n";
const COMPLETE: &str = "event: complete\ndata:\n\n";

/// Sends the responses as events. If the token expires, the last event reports it. During shutdown the stream
/// ends without `complete`, so that the client reconnects.
pub(in crate::edge) fn respond(
    edge: &Edge,
    responses: BoxStream<'static, GraphqlResponse>,
    caller: &Caller,
    client: Client,
) -> Response {
    let permit = match edge.live.admit(client) {
        Ok(permit) => permit,
        Err(reached) => return http_error(reached),
    };
    let chunks = events(edge, responses, caller).map(|event| match event {
        Event::Response(response) => next(&text(&response)),
        Event::End(End::Complete) => COMPLETE.to_owned(),
        Event::End(End::TokenEnded) => next(&text(&graphql_error(Error::BadToken))) + COMPLETE,
        Event::End(End::Stopping) => String::new(),
    });
    // Some browsers ignore a response until its first byte arrives.
    let chunks = futures_util::stream::iter([HEARTBEAT.to_owned()]).chain(chunks);
    event_stream(body(edge, (client, permit), HEARTBEAT, chunks))
}

/// The event with a response.
pub(super) fn next(json: &str) -> String {
    format!("event: next\ndata: {json}\n\n")
}

/// An HTTP response with an event stream.
pub(super) fn event_stream(body: Body) -> Response {
    let head = [
        (CONTENT_TYPE.as_str(), "text/event-stream; charset=utf-8"),
        (CACHE_CONTROL.as_str(), "no-cache, no-transform"),
        // nginx buffers responses unless this header is set.
        ("x-accel-buffering", "no"),
    ];
    (head, body).into_response()
}
