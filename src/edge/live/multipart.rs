//! Subscriptions as multipart HTTP, the protocol of Apollo's clients and router:
//! <https://www.apollographql.com/docs/graphos/routing/operations/subscriptions/multipart-protocol>

use async_graphql::Response as Answer;
use axum::{
    http::header::{CACHE_CONTROL, CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream, stream::BoxStream};
use serde::Serialize;
use serde_json::{Value, json as object};

use super::{End, Event, body, events, json, refusal, told};
use crate::{
    edge::{Edge, auth::Caller, shares::Client},
    error::Error,
};

// Each part comes with the boundary behind it: only there a client knows that the part is whole.
const BEGIN: &str = "\r\n--graphql";
const BEAT: &str = "\r\ncontent-type: application/json\r\n\r\n{}\r\n--graphql";
const END: &str = "--\r\n";

/// A part that isn't a heartbeat.
#[derive(Serialize)]
struct Part<'a> {
    /// What the operation answered; none where it is over for a reason of the transport's.
    payload: Option<&'a Answer>,
    /// Faults of the transport, which end it.
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<Value>,
}

/// Sends each answer as a part. Where the token ends or the gateway stops, the last part says so.
pub(in crate::edge) fn respond(
    edge: &Edge,
    answers: BoxStream<'static, Answer>,
    caller: &Caller,
    client: Client,
) -> Response {
    let place = match edge.live.admit(client) {
        Ok(place) => place,
        Err(full) => return refusal(full),
    };
    let chunks = events(edge, answers, caller).map(|event| match event {
        Event::Answer(answer) => part(&Part { payload: Some(&answer), errors: None }),
        Event::End(End::Complete) => END.to_owned(),
        Event::End(End::TokenEnded) => fault(object!(told(Error::BadToken).errors)),
        Event::End(End::Stopping) => fault(stopping()),
    });
    let chunks = stream::iter([BEGIN.to_owned()]).chain(chunks);
    let head = [
        (CONTENT_TYPE.as_str(), "multipart/mixed;boundary=\"graphql\";subscriptionSpec=\"1.0\""),
        (CACHE_CONTROL.as_str(), "no-cache, no-transform"),
        ("x-accel-buffering", "no"),
    ];
    (head, body(&edge.live, place, BEAT, chunks)).into_response()
}

fn part(part: &Part) -> String {
    format!("\r\ncontent-type: application/json\r\n\r\n{}{BEGIN}", json(part))
}

/// The last part of a stream that had to end.
fn fault(errors: Value) -> String {
    part(&Part { payload: None, errors: Some(errors) }) + END
}

fn stopping() -> Value {
    let extensions = object!({ "code": "UNAVAILABLE", "retryable": true });
    object!([{ "message": "the gateway is about to stop; subscribe again", "extensions": extensions }])
}
