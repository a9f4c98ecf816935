//! Counts the bytes that a client has sent over a connection and that the gateway still buffers: incomplete heads,
//! bodies being read, and WebSocket messages.
//!
//! hyper and the WebSocket library have their own read buffers. The fill level of such a buffer is the bytes read from
//! the TCP stream minus the bytes handed out. Within a request the buffer is filled again only if it is empty.

use std::sync::{Arc, Mutex};

use axum::{extract::Request, http::request::Parts};

use super::{
    server::Peer,
    shares::{Client, LimitReached, Permit},
};
use crate::locks::lock;

/// Bytes that each connection may hold without being counted: the size of one read of hyper. It is enough for
/// most requests.
const UNCOUNTED: usize = 8 << 10;

/// The received bytes of one connection.
pub(super) struct ReceivedBytes(Mutex<State>);

struct State {
    phase: Phase,
    /// Bytes in a read buffer: read from the TCP stream, not yet handed out.
    buffered: usize,
    /// Bytes kept by the current request.
    kept: usize,
    /// This connection's part of the bytes of all connections.
    permit: Permit,
    /// The client, if it is known without a request.
    peer: Option<Client>,
}

/// The data that the connection is receiving.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The head of a request.
    Head,
    /// The body of a request, or data after it.
    Request,
    /// Data that arrives while a streamed response is sent. From the second read on it counts as the next
    /// head.
    Response,
    /// WebSocket messages.
    Socket,
}

impl ReceivedBytes {
    /// No bytes yet; they are counted in `permit`.
    pub(super) fn new(permit: Permit, peer: Option<Client>) -> Arc<Self> {
        let phase = Phase::Head;
        Arc::new(Self(Mutex::new(State { phase, buffered: 0, kept: 0, permit, peer })))
    }

    /// The received bytes of a request's connection.
    pub(super) fn of(head: &Parts) -> Option<Arc<Self>> {
        head.extensions.get::<Peer>().map(|peer| Arc::clone(&peer.received))
    }

    /// Must be called before the TCP stream is read.
    pub(super) fn before_read(&self) {
        let mut state = lock(&self.0);
        if state.phase == Phase::Request {
            state.buffered = 0;
        }
    }

    /// Adds bytes that were read.
    ///
    /// # Errors
    /// The limit is exceeded, in a phase without another check.
    pub(super) fn read(&self, bytes: usize) -> Result<(), LimitReached> {
        let mut state = lock(&self.0);
        state.buffered += bytes;
        let counted = state.count();
        match state.phase {
            Phase::Head | Phase::Socket => counted,
            Phase::Request => Ok(()),
            Phase::Response => {
                state.phase = Phase::Head;
                Ok(())
            }
        }
    }

    /// Starts a request. Its head is kept until the response.
    pub(super) fn begin(&self, client: Client, request: &Request<impl Sized>) {
        let mut state = lock(&self.0);
        state.phase = Phase::Request;
        state.permit.pass_to(Some(client));
        state.kept = length(request).min(state.buffered);
        state.buffered -= state.kept;
    }

    /// Subtracts bytes that were handed out: a part of a body, or a control frame.
    pub(super) fn handed_out(&self, bytes: usize) {
        let mut state = lock(&self.0);
        state.buffered = state.buffered.saturating_sub(bytes);
        // The count has become smaller, so the limit can be ignored.
        let _counted = state.count();
    }

    /// Adds bytes of the body that are kept until the response.
    ///
    /// # Errors
    /// The limit is exceeded.
    pub(super) fn keep(&self, bytes: usize) -> Result<(), LimitReached> {
        let mut state = lock(&self.0);
        state.kept += bytes;
        state.count()
    }

    /// Ends a request, with a whole response or with a stream.
    ///
    /// # Errors
    /// The data after the request exceed the limit; the connection should be closed.
    pub(super) fn end(&self, is_whole: bool) -> Result<(), LimitReached> {
        let mut state = lock(&self.0);
        if state.phase == Phase::Request {
            state.phase = if is_whole { Phase::Head } else { Phase::Response };
        }
        state.kept = 0;
        let counted = state.count();
        let peer = state.peer;
        state.permit.pass_to(peer);
        counted
    }

    /// Records that the connection becomes a WebSocket of this client.
    pub(super) fn become_socket(&self, client: Client) {
        let mut state = lock(&self.0);
        state.phase = Phase::Socket;
        state.permit.pass_to(Some(client));
        state.peer = Some(client);
    }

    /// Whether the connection waits for the head of a request.
    pub(super) fn awaits_head(&self) -> bool {
        lock(&self.0).phase == Phase::Head
    }

    /// A whole message has been received, and the bytes read before are released.
    pub(super) fn message_received(&self) {
        let mut state = lock(&self.0);
        state.buffered = 0;
        let _counted = state.count();
    }
}

impl State {
    fn count(&mut self) -> Result<(), LimitReached> {
        let bytes = self.buffered + self.kept;
        self.permit.resize(if bytes > UNCOUNTED { bytes } else { 0 })
    }
}

/// Minimum length of a request's head in bytes.
fn length(request: &Request<impl Sized>) -> usize {
    /// Length of the request line without method and target, and of the empty line.
    const LINES: usize = " HTTP/1.1\r\n\r\n".len() + 1;
    /// Length of a header without name and value.
    const EACH: usize = ":\r\n".len();
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let headers = request.headers().iter();
    let headers: usize =
        headers.map(|(name, value)| name.as_str().len() + value.len() + EACH).sum();
    LINES + request.method().as_str().len() + target + headers
}
