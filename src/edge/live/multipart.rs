//! Subscriptions over multipart HTTP, the protocol of Apollo's clients and router:
//! <https://www.apollographql.com/docs/graphos/routing/operations/subscriptions/multipart-protocol>

use async_graphql::Response as GraphqlResponse;
use axum::{
    http::header::{CACHE_CONTROL, CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream, stream::BoxStream};
use serde_json::{Value, json as object};

use super::{End, Event, body, events, graphql_error, http_error, text};
use crate::{
    edge::{Edge, auth::Caller, shares::Client},
    error::Error,
};

// The boundary is sent directly after each part, because a client recognises the end of a part only by the
// next boundary.
const BEGIN: &str = "\r\n--graphql";
const HEARTBEAT: &str = "\r\ncontent-type: application/json\r\n\r\n{}\r\n--graphql";
const END: &str = "--\r\n";

/// Sends each response as a part. If the token expires or the gateway shuts down, the last part reports it.
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
        Event::Response(response) => part(&format!("{{\"payload\":{}}}", text(&response))),
        Event::End(End::Complete) => END.to_owned(),
        Event::End(End::TokenEnded) => fault(object!(graphql_error(Error::BadToken).errors)),
        Event::End(End::Stopping) => fault(stopping()),
    });
    let chunks = stream::iter([BEGIN.to_owned()]).chain(chunks);
    let head = [
        (CONTENT_TYPE.as_str(), "multipart/mixed;boundary=\"graphql\";subscriptionSpec=\"1.0\""),
        (CACHE_CONTROL.as_str(), "no-cache, no-transform"),
        ("x-accel-buffering", "no"),
    ];
    (head, body(edge, (client, permit), HEARTBEAT, chunks)).into_response()
}

/// A part other than a heartbeat.
fn part(json: &str) -> String {
    format!("\r\ncontent-type: application/json\r\n\r\n{json}{BEGIN}")
}

/// The last part of a stream that the transport ended.
fn fault(errors: Value) -> String {
    part(&object!({ "payload": null, "errors": errors }).to_string()) + END
}

fn stopping() -> Value {
    let extensions = object!({ "code": "UNAVAILABLE", "retryable": true });
    object!([{ "message": "the gateway is about to stop; subscribe again", "extensions": extensions }])
}
