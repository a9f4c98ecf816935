//! Operations over a WebSocket, any number side by side.
//!
//! One task has the socket: it reads a message, or takes an answer, and sends what is to be sent before
//! it goes on. So a client that doesn't read isn't read from either, and nothing piles up.

use std::{
    borrow::Cow, collections::HashMap, convert::Infallible, net::IpAddr, pin::Pin, sync::Arc,
    time::Duration,
};

use async_graphql::{Response as Answer, Value};
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
    messages::{self, PROTOCOLS, Protocol, Said},
    origin::origin_is_allowed,
    patience, token_ended,
};
use crate::{
    edge::{
        Edge, auth::Caller, counted, execution::Call, intake::Intake, parameters::Parameters,
        shares::Client,
    },
    error::Error,
};

/// How long the client may take to answer a close, and what it still sends is read.
const FAREWELL: Duration = Duration::from_secs(1);
/// Bytes that are read at once; a socket has that much memory of its own.
const READ_BUFFER: usize = 8 << 10;

/// Why a socket is left.
enum End {
    /// It is closed with a code and a reason.
    Close(u16, Cow<'static, str>),
    /// The client has closed it, or isn't there any more.
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
const NO_ROOM: End = End::close(1013, "Too many bytes are held, try again later");
const NO_PLACE: End = End::close(1013, "Too many connections, try again later");
const TOO_MANY: End = End::close(1013, "Too many operations, try again later");
const UNAUTHORIZED: End = End::close(4401, "Unauthorized");
/// Clients of `graphql-transport-ws` come again after 4403, with another token if they have one; 4401
/// they take for final.
const FORBIDDEN: End = End::close(4403, "Forbidden");
const TOKEN_ENDED: End = End::close(4403, "Forbidden: the token has ended");
const NO_PROTOCOL: End = End::close(4406, "Subprotocol not acceptable");
const INIT_TIMEOUT: End = End::close(4408, "Connection initialisation timeout");
const SECOND_INIT: End = End::close(4429, "Too many initialisation requests");

/// Who asks is told by header or cookie, or else by `connection_init`.
pub(in crate::edge) async fn upgrade(edge: Edge, head: &mut Parts) -> Response {
    let upgrade = match WebSocketUpgrade::from_request_parts(head, &()).await {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    let config = edge.app.config();
    let headers = &head.headers;
    let address = edge.address(head);
    // A token that doesn't hold is told over the socket, where browsers can see it.
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
    let intake = Intake::of(head);
    if let Some(intake) = &intake {
        intake.is_socket(edge.limits.client(None, address));
    }
    let visitor = Visitor { address, client, intake, by_header };
    // Shutdown waits until each socket is closed.
    let tasks = edge.app.tasks().clone();
    upgrade.on_upgrade(move |socket| tasks.track_future(serve(edge, socket, protocol, visitor)))
}

/// Who opened a socket.
struct Visitor {
    address: IpAddr,
    /// Whose share of the sockets it takes.
    client: Client,
    /// What its connection holds.
    intake: Option<Arc<Intake>>,
    /// By header or cookie, who asks.
    by_header: Result<Caller, Error>,
}

async fn serve(edge: Edge, mut socket: WebSocket, protocol: Option<Protocol>, visitor: Visitor) {
    let Visitor { address, client, intake, by_header } = visitor;
    let Ok(_place) = edge.live.admit(client) else { return close(socket, NO_PLACE).await };
    let Some(protocol) = protocol else { return close(socket, NO_PROTOCOL).await };
    let mut session = Session {
        edge: &edge,
        socket: &mut socket,
        protocol,
        address,
        intake,
        caller: None,
        token_ended: Box::pin(std::future::pending()),
        answers: SelectAll::new(),
        running: HashMap::new(),
    };
    let Err(end) = session.serve(by_header).await;
    // Subscriptions end here; what must go on has a task of its own.
    drop(session);
    close(socket, end).await;
}

/// Closes a socket, and waits a moment for the client's answer: what it sends meanwhile would else
/// make the system throw away what it wasn't told yet.
async fn close(mut socket: WebSocket, end: End) {
    let farewell = async {
        if let End::Close(code, reason) = end {
            let reason = Utf8Bytes::from(short(&reason));
            let frame = Message::Close(Some(CloseFrame { code, reason }));
            if socket.send(frame).await.is_err() {
                return;
            }
            if code == TOO_BIG {
                // What was too big can't be read on.
                sleep(FAREWELL).await;
            }
        }
        while let Some(Ok(_)) = socket.recv().await {}
    };
    // Whether it answered or not: that was all.
    let _farewell = timeout(FAREWELL, farewell).await;
}

/// As much of a reason as a close can carry.
/// <https://datatracker.ietf.org/doc/html/rfc6455#section-5.5>
fn short(reason: &str) -> &str {
    const MOST: usize = 123;
    let end = (0..=MOST.min(reason.len())).rev().find(|end| reason.is_char_boundary(*end));
    &reason[..end.unwrap_or_default()]
}

/// An answer of the operation with that id; none where it is over.
type Answered = (Arc<str>, Option<Answer>);

/// A socket with an agreed sub-protocol.
struct Session<'a> {
    edge: &'a Edge,
    socket: &'a mut WebSocket,
    protocol: Protocol,
    address: IpAddr,
    intake: Option<Arc<Intake>>,
    /// Who asks, once that was acknowledged.
    caller: Option<Caller>,
    /// Ready when the caller's token doesn't hold any more.
    token_ended: Pin<Box<dyn Future<Output = ()> + Send>>,
    answers: SelectAll<Abortable<BoxStream<'static, Answered>>>,
    /// By the client's id, what ends an operation.
    running: HashMap<Arc<str>, AbortHandle>,
}

/// What a socket's task has to do next.
enum Next {
    Message(Option<Result<Message, axum::Error>>),
    Answer(Answered),
    Ping,
}

impl Session<'_> {
    /// Goes on until there is a reason to leave.
    async fn serve(&mut self, by_header: Result<Caller, Error>) -> Result<Infallible, End> {
        let config = self.edge.app.config();
        let begin = Instant::now();
        let init_until = begin + Duration::from_millis(config.live_init_millis);
        let ping = self.edge.live.ping;
        let mut pings = interval_at(begin + ping, ping);
        // After a send that had to wait, the client has its whole time again.
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut by_header = Some(by_header);
        let mut is_heard = true;
        loop {
            let next = tokio::select! {
                biased;
                () = self.edge.closing.cancelled() => return Err(STOPPING),
                () = &mut self.token_ended => return Err(TOKEN_ENDED),
                () = sleep_until(init_until), if self.caller.is_none() => return Err(INIT_TIMEOUT),
                message = self.socket.recv() => Next::Message(message),
                Some(answered) = self.answers.next() => Next::Answer(answered),
                _ = pings.tick() => Next::Ping,
            };
            match next {
                Next::Message(message) => {
                    is_heard = true;
                    if let (Some(intake), Some(Ok(message))) = (&self.intake, &message) {
                        done_with(intake, message);
                    }
                    if let Some(text) = read(message)? {
                        match messages::read(self.protocol, &text) {
                            Ok(Said::Init(payload)) => self.init(&payload, &mut by_header).await?,
                            Ok(said) => self.hear(said).await?,
                            Err(fault) => return Err(End::Close(4400, fault.into())),
                        }
                    }
                }
                Next::Answer(answered) => self.answer(answered).await?,
                Next::Ping if !is_heard => return Err(End::Gone),
                Next::Ping => {
                    is_heard = false;
                    self.ping().await?;
                }
            }
        }
    }

    /// Who asks: a token in the payload comes before one in a header.
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

    async fn hear(&mut self, said: Said) -> Result<(), End> {
        match said {
            Said::Start { id, parameters } => self.start(id, parameters),
            Said::Stop { id } => {
                if let Some(running) = self.running.remove(id.as_str()) {
                    running.abort();
                    if self.protocol == Protocol::Legacy {
                        self.send(messages::complete(&id)).await?;
                    }
                }
                Ok(())
            }
            Said::Ping(payload) => self.send(messages::pong(payload)).await,
            Said::Terminate => Err(End::close(1000, "Terminated")),
            Said::Init(_) | Said::Pong => Ok(()),
        }
    }

    fn start(&mut self, id: String, parameters: Parameters) -> Result<(), End> {
        let caller = self.caller.clone().ok_or(UNAUTHORIZED)?;
        if let Some(running) = self.running.get(id.as_str()) {
            if self.protocol == Protocol::Transport {
                return Err(End::Close(4409, format!("Subscriber for {id} already exists").into()));
            }
            // Its own server lets the new one take the place of the old one.
            running.abort();
            self.running.remove(id.as_str());
        }
        if self.running.len() >= self.edge.app.config().live_operations {
            return Err(TOO_MANY);
        }
        let id: Arc<str> = id.into();
        let call = Call { parameters, caller, address: self.address };
        let (answers, end) = (self.edge.follow(call), once(std::future::ready(None)));
        let key = Arc::clone(&id);
        let answers = answers.map(Some).chain(end).map(move |answer| (Arc::clone(&key), answer));
        let (abort, aborted) = AbortHandle::new_pair();
        self.answers.push(Abortable::new(answers.boxed(), aborted));
        self.running.insert(id, abort);
        Ok(())
    }

    async fn answer(&mut self, (id, answer): Answered) -> Result<(), End> {
        let Some(answer) = answer else {
            self.running.remove(&id);
            return self.send(messages::complete(&id)).await;
        };
        if self.protocol == Protocol::Transport && has_not_begun(&answer) {
            if let Some(running) = self.running.remove(&id) {
                running.abort();
            }
            return self.send(messages::error(&id, &answer)).await;
        }
        self.send(messages::next(self.protocol, &id, &answer)).await
    }

    /// A ping of the WebSocket itself, which every client answers, whatever it is written in.
    async fn ping(&mut self) -> Result<(), End> {
        if self.protocol == Protocol::Legacy && self.caller.is_some() {
            self.send(messages::keep_alive()).await?;
        }
        self.send_message(Message::Ping(Vec::new().into())).await
    }

    async fn send(&mut self, text: String) -> Result<(), End> {
        self.send_message(Message::Text(text.into())).await
    }

    /// Sends, and waits until that is on its way.
    async fn send_message(&mut self, message: Message) -> Result<(), End> {
        tokio::select! {
            biased;
            sent = self.socket.send(message) => sent.map_err(|_| End::Gone),
            () = self.edge.closing.cancelled() => Err(STOPPING),
            () = &mut self.token_ended => Err(TOKEN_ENDED),
            () = sleep(patience(self.edge.app.config())) => Err(End::Gone),
        }
    }
}

/// What was read for a message is done with when all of it has come. Pings may come between its parts.
fn done_with(intake: &Intake, message: &Message) {
    /// Of a client's frame without a long payload.
    const HEAD: usize = 6;
    match message {
        Message::Ping(payload) | Message::Pong(payload) => intake.given_out(HEAD + payload.len()),
        Message::Text(_) | Message::Binary(_) => intake.message(),
        Message::Close(_) => {}
    }
}

/// The text of a message; none where the library has answered it by itself.
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
            Some(Fault::Io(fault)) if counted::is_too_much(fault) => NO_ROOM,
            _ => End::Gone,
        }),
    }
}

/// The token of a `connection_init`, as the value of an `Authorization` header; `BadToken` where there
/// is one that isn't text.
fn bearer(payload: &Map<String, Json>) -> Option<Result<String, Error>> {
    let given = |name| payload.get(name).filter(|value| !value.is_null());
    if let Some(value) = given("Authorization").or_else(|| given("authorization")) {
        return Some(value.as_str().map(str::to_owned).ok_or(Error::BadToken));
    }
    let bearer = |value: &Json| value.as_str().map(|token| format!("Bearer {token}"));
    given("authToken").map(|value| bearer(value).ok_or(Error::BadToken))
}

/// Whether the request itself is at fault: nothing was executed.
fn has_not_begun(answer: &Answer) -> bool {
    answer.data == Value::Null
        && !answer.errors.is_empty()
        && answer.errors.iter().all(|error| error.path.is_empty())
}
