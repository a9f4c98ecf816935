//! The bytes that a connection sent and the gateway still holds: heads that aren't complete, bodies that
//! are read, messages on a socket.
//!
//! hyper and the library for each WebSocket read into buffers of their own, so what they hold is known from
//! what they read off the socket and from what they give out. They read on within a request only when nothing is
//! left in the buffer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::{extract::Request, http::request::Parts};

use super::{
    server::Peer,
    shares::{Client, Full, Held},
};

/// So much each connection may hold beside the bounds: as many bytes as hyper reads at once. Most requests
/// need no more.
const OWN: usize = 8 << 10;

/// What one connection holds.
pub(super) struct Intake(Mutex<State>);

struct State {
    phase: Phase,
    /// In a buffer: read off the socket, and not given out.
    buffered: usize,
    /// Kept by the request that is under way.
    kept: usize,
    /// Its part of what all connections hold.
    held: Held,
    /// Who is at the other end, where that is known without a request.
    peer: Option<Client>,
}

/// What is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The head of a request.
    Head,
    /// A body, or what comes behind it.
    Request,
    /// What comes while an answer goes out piece by piece; the next head, from the second read on.
    Answer,
    /// Messages.
    Socket,
}

impl Intake {
    /// Nothing yet; `held` is where it is counted.
    pub(super) fn new(held: Held, peer: Option<Client>) -> Arc<Self> {
        let phase = Phase::Head;
        Arc::new(Self(Mutex::new(State { phase, buffered: 0, kept: 0, held, peer })))
    }

    /// What the connection of a request holds.
    pub(super) fn of(head: &Parts) -> Option<Arc<Self>> {
        head.extensions.get::<Peer>().map(|peer| Arc::clone(&peer.intake))
    }

    /// The socket is about to be read.
    pub(super) fn reading(&self) {
        let mut state = self.state();
        if state.phase == Phase::Request {
            state.buffered = 0;
        }
    }

    /// So many bytes were read.
    ///
    /// # Errors
    /// It is too much, and nobody else looks at it.
    pub(super) fn read(&self, bytes: usize) -> Result<(), Full> {
        let mut state = self.state();
        state.buffered += bytes;
        let counted = state.count();
        match state.phase {
            Phase::Head | Phase::Socket => counted,
            Phase::Request => Ok(()),
            Phase::Answer => {
                state.phase = Phase::Head;
                Ok(())
            }
        }
    }

    /// A request has come. Its head is kept until it is answered.
    pub(super) fn begin(&self, client: Client, request: &Request<impl Sized>) {
        let mut state = self.state();
        state.phase = Phase::Request;
        state.held.pass_to(Some(client));
        state.kept = length(request).min(state.buffered);
        state.buffered -= state.kept;
    }

    /// So many bytes were given out: a piece of a body, or what goes past a message.
    pub(super) fn given_out(&self, bytes: usize) {
        let mut state = self.state();
        state.buffered = state.buffered.saturating_sub(bytes);
        // Less than before: nobody has to be told.
        let _counted = state.count();
    }

    /// So many bytes of the body are kept until the request is answered.
    ///
    /// # Errors
    /// It is too much.
    pub(super) fn keep(&self, bytes: usize) -> Result<(), Full> {
        let mut state = self.state();
        state.kept += bytes;
        state.count()
    }

    /// The request is answered, with something whole or with what goes on.
    ///
    /// # Errors
    /// What came behind it is too much: the connection is better closed.
    pub(super) fn end(&self, is_whole: bool) -> Result<(), Full> {
        let mut state = self.state();
        if state.phase == Phase::Request {
            state.phase = if is_whole { Phase::Head } else { Phase::Answer };
        }
        state.kept = 0;
        let counted = state.count();
        let peer = state.peer;
        state.held.pass_to(peer);
        counted
    }

    /// The connection is a socket from here on, and this client's.
    pub(super) fn is_socket(&self, client: Client) {
        let mut state = self.state();
        state.phase = Phase::Socket;
        state.held.pass_to(Some(client));
        state.peer = Some(client);
    }

    /// Whether the head of a request is awaited.
    pub(super) fn awaits_head(&self) -> bool {
        self.state().phase == Phase::Head
    }

    /// All of a message has come: what was read before is done with.
    pub(super) fn message(&self) {
        let mut state = self.state();
        state.buffered = 0;
        let _counted = state.count();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn count(&mut self) -> Result<(), Full> {
        let bytes = self.buffered + self.kept;
        self.held.resize(if bytes > OWN { bytes } else { 0 })
    }
}

/// How long the head of a request is at the least.
fn length(request: &Request<impl Sized>) -> usize {
    /// Of the first line with its end, beside method and target, and of the empty line.
    const LINES: usize = " HTTP/1.1\r\n\r\n".len() + 1;
    /// Of a header beside name and value.
    const EACH: usize = ":\r\n".len();
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let headers = request.headers().iter();
    let headers: usize =
        headers.map(|(name, value)| name.as_str().len() + value.len() + EACH).sum();
    LINES + request.method().as_str().len() + target + headers
}
