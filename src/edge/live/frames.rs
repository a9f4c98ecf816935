//! Frames of a WebSocket: what a client's frame contains, and how a socket is closed.

use std::{borrow::Cow, time::Duration};

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use tokio::time::{sleep, timeout};
use tungstenite::error::{Error as Fault, ProtocolError};

use crate::edge::{counted, received_bytes::ReceivedBytes};

/// Time for the client to answer a close frame; its data are read meanwhile.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The reason for the end of a session.
pub(super) enum End {
    /// The gateway closes the socket with a code and a reason.
    Close(u16, Cow<'static, str>),
    /// The client closed the socket or has disconnected.
    Gone,
}

impl End {
    pub(super) const fn close(code: u16, reason: &'static str) -> Self {
        Self::Close(code, Cow::Borrowed(reason))
    }
}

pub(super) const STOPPING: End = End::close(1001, "Going away");
const BAD_FRAME: End = End::close(1002, "Protocol error");
const NOT_TEXT: End = End::close(1007, "Not UTF-8");
const TOO_BIG: u16 = 1009;
pub(super) const TOO_MANY_BYTES: End = End::close(1013, "Too many bytes are held, try again later");
pub(super) const TOO_MANY_CONNECTIONS: End =
    End::close(1013, "Too many connections, try again later");
pub(super) const TOO_MANY_OPERATIONS: End =
    End::close(1013, "Too many operations, try again later");
pub(super) const NO_KEYS: End =
    End::close(1013, "The token can't be checked at the moment, try again later");
pub(super) const UNAUTHORIZED: End = End::close(4401, "Unauthorized");
/// Clients of `graphql-transport-ws` reconnect after 4403, with another token if they have one. They treat
/// 4401 as final.
pub(super) const FORBIDDEN: End = End::close(4403, "Forbidden");
pub(super) const TOKEN_ENDED: End = End::close(4403, "Forbidden: the token has ended");
pub(super) const NO_PROTOCOL: End = End::close(4406, "Subprotocol not acceptable");
pub(super) const INIT_TIMEOUT: End = End::close(4408, "Connection initialisation timeout");
pub(super) const SECOND_INIT: End = End::close(4429, "Too many initialisation requests");

/// Closes a socket and waits for the client's answer. Unread data from the client would otherwise make the
/// system discard the close frame.
pub(super) async fn close(mut socket: WebSocket, end: End) {
    let handshake = async {
        if let End::Close(code, reason) = end {
            let reason = Utf8Bytes::from(short(&reason));
            let frame = Message::Close(Some(CloseFrame { code, reason }));
            if socket.send(frame).await.is_err() {
                return;
            }
            if code == TOO_BIG {
                // The rest of a message that is too big can't be read.
                sleep(CLOSE_TIMEOUT).await;
            }
        }
        while let Some(Ok(_)) = socket.recv().await {}
    };
    // The socket is closed whether the client answered or not.
    let _handshake = timeout(CLOSE_TIMEOUT, handshake).await;
}

/// The longest prefix of a reason that fits into a close frame.
/// <https://datatracker.ietf.org/doc/html/rfc6455#section-5.5>
fn short(reason: &str) -> &str {
    const MAX: usize = 123;
    let end = (0..=MAX.min(reason.len())).rev().find(|end| reason.is_char_boundary(*end));
    &reason[..end.unwrap_or_default()]
}

/// The bytes of a message are released when all of it has arrived. Pings may arrive between its fragments.
pub(super) fn release(received: &ReceivedBytes, message: &Message) {
    /// Length of a client's frame header without a long payload length.
    const HEAD: usize = 6;
    match message {
        Message::Ping(payload) | Message::Pong(payload) => {
            received.handed_out(HEAD + payload.len());
        }
        Message::Text(_) | Message::Binary(_) => received.message_received(),
        Message::Close(_) => {}
    }
}

/// The text of a message; none for pings and pongs, which the library handles.
pub(super) fn read(
    message: Option<Result<Message, axum::Error>>,
) -> Result<Option<Utf8Bytes>, End> {
    match message {
        Some(Ok(Message::Text(text))) => Ok(Some(text)),
        Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(None),
        Some(Ok(Message::Binary(_))) => Err(End::close(4400, "messages are text")),
        Some(Ok(Message::Close(_))) | None => Err(End::Gone),
        Some(Err(fault)) => Err(match fault.into_inner().downcast_ref::<Fault>() {
            Some(Fault::Capacity(_)) => End::close(TOO_BIG, "Message too big"),
            Some(Fault::Utf8(_)) => NOT_TEXT,
            Some(Fault::Protocol(ProtocolError::ResetWithoutClosingHandshake)) => End::Gone,
            Some(Fault::Protocol(_)) => BAD_FRAME,
            Some(Fault::Io(fault)) if counted::is_over_limit(fault) => TOO_MANY_BYTES,
            _ => End::Gone,
        }),
    }
}
