//! Messages on a WebSocket, in both sub-protocols: `graphql-transport-ws`,
//! <https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md>, and the older `graphql-ws`,
//! <https://github.com/apollographql/subscriptions-transport-ws/blob/master/PROTOCOL.md>

use async_graphql::{Response as GraphqlResponse, Value as GraphqlValue};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use super::{json, text};
use crate::{
    edge::{
        json::Object,
        parameters::{MAX_ID, Parameters, check_values},
    },
    error::Error,
};

/// The sub-protocols, in order of preference.
pub(super) const PROTOCOLS: [&str; 2] = ["graphql-transport-ws", "graphql-ws"];

/// A sub-protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// `graphql-transport-ws`.
    Transport,
    /// `graphql-ws`, which the library of the same name no longer supports.
    Legacy,
}

impl Protocol {
    /// The sub-protocol with the negotiated name.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"graphql-transport-ws" => Some(Self::Transport),
            b"graphql-ws" => Some(Self::Legacy),
            _ => None,
        }
    }
}

/// A message of a client.
pub(super) enum ClientMessage {
    /// Initialises the connection; the payload may hold the token, see [`bearer`].
    Init(Option<Result<String, Error>>),
    /// Starts an operation.
    Start { id: String, parameters: Parameters },
    /// Stops an operation.
    Stop { id: String },
    /// A ping; its payload is sent back.
    Ping(Option<Box<RawValue>>),
    /// The answer to a ping.
    Pong,
    /// Closes the connection.
    Terminate,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

/// Parses a message of a client. The error becomes the reason of the close frame.
pub(super) fn read(protocol: Protocol, text: &str) -> Result<ClientMessage, String> {
    use Protocol::{Legacy, Transport};
    // serde would also deserialise the struct from an array.
    if !text.trim_start().starts_with('{') {
        return Err("not a message: isn't an object".to_owned());
    }
    let Envelope { kind, id, payload } =
        serde_json::from_str(text).map_err(|fault| format!("not a message: {fault}"))?;
    let id = || match id {
        Some(id) if id.len() > MAX_ID => Err(format!("an id of more than {MAX_ID} bytes")),
        Some(id) if !id.is_empty() => Ok(id),
        _ => Err(format!("{kind} without an id")),
    };
    let message = match (protocol, kind.as_str()) {
        (_, "connection_init") => {
            ClientMessage::Init(bearer(&object(payload)?.unwrap_or_default()))
        }
        (Transport, "subscribe") | (Legacy, "start") => {
            let payload = payload.ok_or(format!("{kind} without a payload"))?;
            let parameters = Parameters::read("payload", payload.get().as_bytes());
            let parameters = parameters.map_err(|fault| fault.to_string())?;
            if !parameters.has_document() {
                return Err("payload: query is missing".to_owned());
            }
            ClientMessage::Start { id: id()?, parameters }
        }
        (Transport, "complete") | (Legacy, "stop") => ClientMessage::Stop { id: id()? },
        (Transport, "ping") => {
            // Parsed to ensure that only an object is sent back.
            object(payload)?;
            ClientMessage::Ping(payload.map(ToOwned::to_owned))
        }
        (Transport, "pong") => {
            object(payload)?;
            ClientMessage::Pong
        }
        (Legacy, "connection_terminate") => ClientMessage::Terminate,
        _ => return Err("a type of message that clients don't send".to_owned()),
    };
    Ok(message)
}

fn object(payload: Option<&RawValue>) -> Result<Option<Map<String, Value>>, String> {
    let payload = payload.map_or("null", RawValue::get);
    check_values("payload", payload.as_bytes()).map_err(|fault| fault.to_string())?;
    let object: Option<Object> =
        serde_json::from_str(payload).map_err(|fault| format!("payload: {fault}"))?;
    Ok(object.map(|Object(fields)| fields))
}

#[derive(Serialize)]
struct Message<'a, P> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<P>,
}

fn message<P: Serialize>(kind: &'static str, id: Option<&str>, payload: Option<P>) -> String {
    json(&Message { id, kind, payload })
}

/// Accepts the connection.
pub(super) fn acknowledged() -> String {
    message("connection_ack", None, None::<()>)
}

/// Refuses the connection's token; the older sub-protocol sends this before it closes.
pub(super) fn not_acknowledged(reason: &str) -> String {
    message("connection_error", None, Some(serde_json::json!({ "message": reason })))
}

/// The heartbeat of the older sub-protocol.
pub(super) fn keep_alive() -> String {
    message("ka", None, None::<()>)
}

/// The answer to a ping.
pub(super) fn pong(payload: Option<Box<RawValue>>) -> String {
    message("pong", None, payload)
}

/// A response of an operation.
pub(super) fn next(protocol: Protocol, id: &str, response: &GraphqlResponse) -> String {
    let kind = match protocol {
        Protocol::Transport => "next",
        Protocol::Legacy => "data",
    };
    format!("{{\"id\":{},\"type\":\"{kind}\",\"payload\":{}}}", json(&id), text(response))
}

/// The operation couldn't start; no `complete` follows. In the older sub-protocol the gateway sends a response and
/// `complete` instead, like the reference server.
pub(super) fn error(id: &str, response: &GraphqlResponse) -> String {
    message("error", Some(id), Some(&response.errors))
}

/// The operation has ended.
pub(super) fn complete(id: &str) -> String {
    message("complete", Some(id), None::<()>)
}

/// The token in a `connection_init` payload, as the value of an `Authorization` header. `BadToken` if it
/// isn't text.
fn bearer(payload: &Map<String, Value>) -> Option<Result<String, Error>> {
    let given = |name| payload.get(name).filter(|value| !value.is_null());
    if let Some(value) = given("Authorization").or_else(|| given("authorization")) {
        return Some(value.as_str().map(str::to_owned).ok_or(Error::BadToken));
    }
    let bearer = |value: &Value| value.as_str().map(|token| format!("Bearer {token}"));
    given("authToken").map(|value| bearer(value).ok_or(Error::BadToken))
}

/// Whether the operation was rejected before its execution.
pub(super) fn was_rejected(response: &GraphqlResponse) -> bool {
    response.data == GraphqlValue::Null
        && !response.errors.is_empty()
        && response.errors.iter().all(|error| error.path.is_empty())
}
