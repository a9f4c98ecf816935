//! Operations over a WebSocket, any number concurrently.
//!
//! One task owns the socket. It reads a message or takes a response, and sends the result before it continues.
//! If a client doesn't read, the gateway therefore doesn't read from it either, and no queue grows.

use std::{
    borrow::Cow, collections::HashMap, convert::Infallible, net::IpAddr, pin::Pin, sync::Arc,
    time::Duration,
};

use async_graphql::{Response as GraphqlResponse, Value};
use axum::{
    extract::{
        FromRequestParts, WebSocketUpgrade,
        ws::{CloseFrame, Message, Utf8Bytes, WebSocket},
    },
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use futures_util::{
    StreamExt,
    stream::{AbortHandle, Abortable, BoxStream, SelectAll, once},
};
use serde_json::{Map, Value as Json};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, sleep_until, timeout};
use tungstenite::error::{Error as Fault, ProtocolError};

use super::{
    client_timeout,
    messages::{self, ClientMessage, PROTOCOLS, Protocol},
    origin::origin_is_allowed,
    token_ended,
};
use crate::{
    edge::{
        Edge, auth::Caller, counted, execution::Call, parameters::Parameters,
        received_bytes::ReceivedBytes, shares::Client,
    },
    error::Error,
};

/// Time for the client to answer a close frame; its data are read meanwhile.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Size of the read buffer in bytes; each socket has its own.
const READ_BUFFER: usize = 8 << 10;

/// The reason for the end of a session.
enum End {
    /// The gateway closes the socket with a code and a reason.
    Close(u16, Cow<'static, str>),
    /// The client closed the socket or has disconnected.
    Gone,
}

impl End {
    const fn close(code: u16, reason: &'static str) -> Self {
        Self::Close(code, Cow::Borrowed(reason))
    }
}

const STOPPING: End = End::close(1001, "Going away");
const BAD_FRAME: End = End::close(1002, "Protocol error");
const NOT_TEXT: End = End::close(1007, "Not UTF-8");
const TOO_BIG: u16 = 1009;
const TOO_MANY_BYTES: End = End::close(1013, "Too many bytes are held, try again later");
const TOO_MANY_CONNECTIONS: End = End::close(1013, "Too many connections, try again later");
const TOO_MANY_OPERATIONS: End = End::close(1013, "Too many operations, try again later");
const UNAUTHORIZED: End = End::close(4401, "Unauthorized");
/// Clients of `graphql-transport-ws` reconnect after 4403, with another token if they have one. They treat
/// 4401 as final.
const FORBIDDEN: End = End::close(4403, "Forbidden");
const TOKEN_ENDED: End = End::close(4403, "Forbidden: the token has ended");
const NO_PROTOCOL: End = End::close(4406, "Subprotocol not acceptable");
const INIT_TIMEOUT: End = End::close(4408, "Connection initialisation timeout");
const SECOND_INIT: End = End::close(4429, "Too many initialisation requests");

/// Upgrades a request to a WebSocket. The caller is authenticated by header or cookie, or later by
/// `connection_init`.
pub(in crate::edge) async fn upgrade(edge: Edge, head: &mut Parts) -> Response {
    let upgrade = match WebSocketUpgrade::from_request_parts(head, &()).await {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    let config = edge.app.config();
    let headers = &head.headers;
    let address = edge.address(head);
    // An invalid token is reported over the socket, where browsers can see it.
    let by_header = edge.authenticator.caller(headers).await;
    let is_by_cookie = by_header.as_ref().is_ok_and(|caller| caller.by_cookie);
    if is_by_cookie && !origin_is_allowed(headers, &config.cors_origins) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let largest = config.body_bytes;
    let upgrade = upgrade
        .protocols(PROTOCOLS)
        .max_message_size(largest)
        .max_frame_size(largest)
        .read_buffer_size(READ_BUFFER);
    let name = upgrade.selected_protocol();
    let protocol = name.and_then(|name| Protocol::named(name.as_bytes()));
    let requester = by_header.as_ref().map(|caller| &caller.requester).ok();
    let client = edge.limits.client(requester, address);
    let received = ReceivedBytes::of(head);
    if let Some(received) = &received {
        received.become_socket(edge.limits.client(None, address));
    }
    let peer = Peer { address, client, received, by_header };
    // Tracked, so that shutdown waits until each socket is closed.
    let tasks = edge.app.tasks().clone();
    upgrade.on_upgrade(move |socket| tasks.track_future(serve(edge, socket, protocol, peer)))
}

/// The client of a socket.
struct Peer {
    address: IpAddr,
    /// The client whose share of the connections the socket uses.
    client: Client,
    /// The received bytes of the connection.
    received: Option<Arc<ReceivedBytes>>,
    /// The caller by header or cookie.
    by_header: Result<Caller, Error>,
}

async fn serve(edge: Edge, mut socket: WebSocket, protocol: Option<Protocol>, peer: Peer) {
    let Peer { address, client, received, by_header } = peer;
    let Ok(_place) = edge.live.admit(client) else {
        return close(socket, TOO_MANY_CONNECTIONS).await;
    };
    let Some(protocol) = protocol else { return close(socket, NO_PROTOCOL).await };
    let mut session = Session {
        edge: &edge,
        socket: &mut socket,
        protocol,
        address,
        received,
        caller: None,
        token_ended: Box::pin(std::future::pending()),
        responses: SelectAll::new(),
        running: HashMap::new(),
    };
    let Err(end) = session.serve(by_header).await;
    // Dropping the session ends its subscriptions; mutations have tasks of their own.
    drop(session);
    close(socket, end).await;
}

/// Closes a socket and waits for the client's answer. Unread data from the client would otherwise make the
/// system discard the close frame.
async fn close(mut socket: WebSocket, end: End) {
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

/// A response of the operation with this id; none at its end.
type OperationResponse = (Arc<str>, Option<GraphqlResponse>);

/// A socket with a negotiated sub-protocol.
struct Session<'a> {
    edge: &'a Edge,
    socket: &'a mut WebSocket,
    protocol: Protocol,
    address: IpAddr,
    received: Option<Arc<ReceivedBytes>>,
    /// The caller, once the connection is acknowledged.
    caller: Option<Caller>,
    /// Completes when the caller's token has expired.
    token_ended: Pin<Box<dyn Future<Output = ()> + Send>>,
    responses: SelectAll<Abortable<BoxStream<'static, OperationResponse>>>,
    /// Handles that stop the operations, by the client's id.
    running: HashMap<Arc<str>, AbortHandle>,
}

/// The next event of a session.
enum Next {
    Message(Option<Result<Message, axum::Error>>),
    Response(OperationResponse),
    Ping,
}

impl Session<'_> {
    /// Processes events until the session ends.
    async fn serve(&mut self, by_header: Result<Caller, Error>) -> Result<Infallible, End> {
        let config = self.edge.app.config();
        let begin = Instant::now();
        let init_until = begin + Duration::from_millis(config.live_init_millis);
        let ping = self.edge.live.ping;
        let mut pings = interval_at(begin + ping, ping);
        // After a send that had to wait, the client gets the reached interval again.
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut by_header = Some(by_header);
        let mut is_alive = true;
        loop {
            let next = tokio::select! {
                biased;
                () = self.edge.closing.cancelled() => return Err(STOPPING),
                () = &mut self.token_ended => return Err(TOKEN_ENDED),
                () = sleep_until(init_until), if self.caller.is_none() => return Err(INIT_TIMEOUT),
                message = self.socket.recv() => Next::Message(message),
                Some(response) = self.responses.next() => Next::Response(response),
                _ = pings.tick() => Next::Ping,
            };
            match next {
                Next::Message(message) => {
                    is_alive = true;
                    if let (Some(received), Some(Ok(message))) = (&self.received, &message) {
                        release(received, message);
                    }
                    if let Some(text) = read(message)? {
                        match messages::read(self.protocol, &text) {
                            Ok(ClientMessage::Init(payload)) => {
                                self.init(&payload, &mut by_header).await?;
                            }
                            Ok(message) => self.handle(message).await?,
                            Err(fault) => return Err(End::Close(4400, fault.into())),
                        }
                    }
                }
                Next::Response(response) => self.send_response(response).await?,
                Next::Ping if !is_alive => return Err(End::Gone),
                Next::Ping => {
                    is_alive = false;
                    self.ping().await?;
                }
            }
        }
    }

    /// Authenticates the caller; a token in the payload takes precedence over one in a header.
    async fn init(
        &mut self,
        payload: &Map<String, Json>,
        by_header: &mut Option<Result<Caller, Error>>,
    ) -> Result<(), End> {
        let by_header = by_header.take().ok_or(SECOND_INIT)?;
        let caller = match bearer(payload) {
            None => by_header,
            Some(Err(error)) => Err(error),
            Some(Ok(bearer)) => self.edge.authenticator.by_header_value(&bearer).await,
        };
        let Ok(caller) = caller else {
            if self.protocol == Protocol::Legacy {
                self.send(messages::not_acknowledged("Forbidden")).await?;
            }
            return Err(FORBIDDEN);
        };
        self.token_ended = Box::pin(token_ended(caller.until));
        self.caller = Some(caller);
        self.send(messages::acknowledged()).await?;
        if self.protocol == Protocol::Legacy {
            self.send(messages::keep_alive()).await?;
        }
        Ok(())
    }

    async fn handle(&mut self, message: ClientMessage) -> Result<(), End> {
        match message {
            ClientMessage::Start { id, parameters } => self.start(id, parameters),
            ClientMessage::Stop { id } => {
                if let Some(running) = self.running.remove(id.as_str()) {
                    running.abort();
                    if self.protocol == Protocol::Legacy {
                        self.send(messages::complete(&id)).await?;
                    }
                }
                Ok(())
            }
            ClientMessage::Ping(payload) => self.send(messages::pong(payload)).await,
            ClientMessage::Terminate => Err(End::close(1000, "Terminated")),
            ClientMessage::Init(_) | ClientMessage::Pong => Ok(()),
        }
    }

    fn start(&mut self, id: String, parameters: Parameters) -> Result<(), End> {
        let caller = self.caller.clone().ok_or(UNAUTHORIZED)?;
        if let Some(running) = self.running.get(id.as_str()) {
            if self.protocol == Protocol::Transport {
                return Err(End::Close(4409, format!("Subscriber for {id} already exists").into()));
            }
            // The reference server replaces the old operation with the new one.
            running.abort();
            self.running.remove(id.as_str());
        }
        if self.running.len() >= self.edge.app.config().live_operations {
            return Err(TOO_MANY_OPERATIONS);
        }
        let id: Arc<str> = id.into();
        let call = Call { parameters, caller, address: self.address };
        let (responses, end) = (self.edge.follow(call), once(std::future::ready(None)));
        let key = Arc::clone(&id);
        let responses =
            responses.map(Some).chain(end).map(move |response| (Arc::clone(&key), response));
        let (abort, aborted) = AbortHandle::new_pair();
        self.responses.push(Abortable::new(responses.boxed(), aborted));
        self.running.insert(id, abort);
        Ok(())
    }

    async fn send_response(&mut self, (id, response): OperationResponse) -> Result<(), End> {
        let Some(response) = response else {
            self.running.remove(&id);
            return self.send(messages::complete(&id)).await;
        };
        if self.protocol == Protocol::Transport && was_rejected(&response) {
            if let Some(running) = self.running.remove(&id) {
                running.abort();
            }
            return self.send(messages::error(&id, &response)).await;
        }
        self.send(messages::next(self.protocol, &id, &response)).await
    }

    /// Sends a WebSocket ping, which every client library answers.
    async fn ping(&mut self) -> Result<(), End> {
        if self.protocol == Protocol::Legacy && self.caller.is_some() {
            self.send(messages::keep_alive()).await?;
        }
        self.send_message(Message::Ping(Vec::new().into())).await
    }

    async fn send(&mut self, text: String) -> Result<(), End> {
        self.send_message(Message::Text(text.into())).await
    }

    /// Sends a message and waits until it is handed to the connection.
    async fn send_message(&mut self, message: Message) -> Result<(), End> {
        tokio::select! {
            biased;
            sent = self.socket.send(message) => sent.map_err(|_| End::Gone),
            () = self.edge.closing.cancelled() => Err(STOPPING),
            () = &mut self.token_ended => Err(TOKEN_ENDED),
            () = sleep(client_timeout(self.edge.app.config())) => Err(End::Gone),
        }
    }
}

/// The bytes of a message are released when all of it has arrived. Pings may arrive between its fragments.
fn release(received: &ReceivedBytes, message: &Message) {
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
fn read(message: Option<Result<Message, axum::Error>>) -> Result<Option<Utf8Bytes>, End> {
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

/// The token in a `connection_init` payload, as the value of an `Authorization` header. `BadToken` if it
/// isn't text.
fn bearer(payload: &Map<String, Json>) -> Option<Result<String, Error>> {
    let given = |name| payload.get(name).filter(|value| !value.is_null());
    if let Some(value) = given("Authorization").or_else(|| given("authorization")) {
        return Some(value.as_str().map(str::to_owned).ok_or(Error::BadToken));
    }
    let bearer = |value: &Json| value.as_str().map(|token| format!("Bearer {token}"));
    given("authToken").map(|value| bearer(value).ok_or(Error::BadToken))
}

/// Whether the operation was rejected before its execution.
fn was_rejected(response: &GraphqlResponse) -> bool {
    response.data == Value::Null
        && !response.errors.is_empty()
        && response.errors.iter().all(|error| error.path.is_empty())
}
