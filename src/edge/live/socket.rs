//! Operations over a WebSocket, any number concurrently.
//!
//! One task owns the socket. It reads a message or takes a response, and sends the result before it continues.
//! If a client doesn't read, the gateway therefore doesn't read from it either, and no queue grows.

use std::{
    collections::HashMap, convert::Infallible, future::poll_fn, net::IpAddr, pin::Pin, sync::Arc,
    task::Poll, time::Duration,
};

use async_graphql::Response as GraphqlResponse;
use axum::{
    extract::{
        FromRequestParts, WebSocketUpgrade,
        ws::{Message, WebSocket},
    },
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use futures_util::{
    SinkExt, StreamExt,
    stream::{AbortHandle, Abortable, BoxStream, SelectAll, once},
};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, sleep_until};

use super::{
    client_timeout,
    frames::{
        End, FORBIDDEN, INIT_TIMEOUT, NO_KEYS, NO_PROTOCOL, SECOND_INIT, STOPPING, TOKEN_ENDED,
        TOO_MANY_BYTES, TOO_MANY_CONNECTIONS, TOO_MANY_OPERATIONS, UNAUTHORIZED, close, read,
        release,
    },
    http_error,
    messages::{self, ClientMessage, PROTOCOLS, Protocol, was_rejected},
    origin::origin_is_allowed,
    token_ended,
};
use crate::{
    edge::{
        Edge, auth::Caller, error_response::with_status, execution::Call, parameters::Parameters,
        received_bytes::ReceivedBytes, shares::Client,
    },
    error::Error,
};

/// Size of the read buffer in bytes; each socket has its own.
const READ_BUFFER: usize = 8 << 10;

/// Size in bytes from which the messages of one write get no further one.
const WRITE: usize = 64 << 10;

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
    let requester = by_header.as_ref().map(|caller| &caller.requester).ok();
    let client = edge.limits.client(requester, address);
    if let Err(refused) = edge.limits.admit(client) {
        return http_error(with_status(refused));
    }
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
        client,
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

/// A response of the operation with this id; none at its end.
type OperationResponse = (Arc<str>, Option<GraphqlResponse>);

/// A socket with a negotiated sub-protocol.
struct Session<'a> {
    edge: &'a Edge,
    socket: &'a mut WebSocket,
    protocol: Protocol,
    address: IpAddr,
    client: Client,
    received: Option<Arc<ReceivedBytes>>,
    /// The caller, once the connection is acknowledged.
    caller: Option<Caller>,
    /// Completes when the caller's token has expired, or its key is removed.
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
                        let message = messages::read(self.protocol, &text);
                        // Its bytes aren't counted any longer.
                        drop(text);
                        match message {
                            Ok(ClientMessage::Init(bearer)) => {
                                self.init(bearer, &mut by_header).await?;
                            }
                            Ok(message) => self.handle(message).await?,
                            Err(fault) => return Err(End::Close(4400, fault.into())),
                        }
                    }
                }
                Next::Response(response) => self.send_responses(response).await?,
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
        bearer: Option<Result<String, Error>>,
        by_header: &mut Option<Result<Caller, Error>>,
    ) -> Result<(), End> {
        let by_header = by_header.take().ok_or(SECOND_INIT)?;
        let longest = self.edge.app.config().head_bytes;
        let caller = match bearer {
            None => by_header,
            Some(Err(error)) => Err(error),
            // It isn't kept while keys are fetched.
            Some(Ok(bearer)) if bearer.len() > longest => Err(Error::BadToken),
            Some(Ok(bearer)) => self.edge.authenticator.by_header_value(&bearer).await,
        };
        let caller = match caller {
            Ok(caller) => caller,
            // The token may be valid.
            Err(Error::KeysUnavailable) => return Err(NO_KEYS),
            Err(_) => {
                if self.protocol == Protocol::Legacy {
                    self.send(messages::not_acknowledged("Forbidden")).await?;
                }
                return Err(FORBIDDEN);
            }
        };
        self.token_ended = Box::pin(token_ended(&caller));
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

    /// Sends a response, and with it those that are ready by then, in one write.
    async fn send_responses(&mut self, first: OperationResponse) -> Result<(), End> {
        let (mut next, mut bytes, mut held) = (Some(first), 0, Vec::new());
        while let Some(response) = next {
            let text = self.message(response);
            bytes += text.len();
            let permit = self.edge.limits.unsent.hold(self.client, text.len());
            held.extend(permit.map_err(|_reached| TOO_MANY_BYTES)?);
            self.feed(Message::Text(text.into())).await?;
            next = None;
            if bytes < WRITE {
                let polled =
                    poll_fn(|task| Poll::Ready(self.responses.poll_next_unpin(task))).await;
                if let Poll::Ready(response) = polled {
                    next = response;
                }
            }
        }
        let flushed = self.flush().await;
        drop(held);
        flushed
    }

    /// The message with a response, or about the end of its operation.
    fn message(&mut self, (id, response): OperationResponse) -> String {
        let Some(response) = response else {
            self.running.remove(&id);
            return messages::complete(&id);
        };
        if self.protocol == Protocol::Transport && was_rejected(&response) {
            if let Some(running) = self.running.remove(&id) {
                running.abort();
            }
            return messages::error(&id, &response);
        }
        messages::next(self.protocol, &id, &response)
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
        self.feed(message).await?;
        self.flush().await
    }

    /// Adds a message to those that the next [`flush`](Self::flush) writes.
    async fn feed(&mut self, message: Message) -> Result<(), End> {
        within(self.edge, &mut self.token_ended, self.socket.feed(message)).await
    }

    async fn flush(&mut self) -> Result<(), End> {
        within(self.edge, &mut self.token_ended, self.socket.flush()).await
    }
}

/// Waits for a step of sending, unless the session ends before.
async fn within(
    edge: &Edge,
    token_ended: &mut Pin<Box<dyn Future<Output = ()> + Send>>,
    step: impl Future<Output = Result<(), axum::Error>>,
) -> Result<(), End> {
    tokio::select! {
        biased;
        sent = step => sent.map_err(|_| End::Gone),
        () = edge.closing.cancelled() => Err(STOPPING),
        () = token_ended => Err(TOKEN_ENDED),
        () = sleep(client_timeout(edge.app.config())) => Err(End::Gone),
    }
}
