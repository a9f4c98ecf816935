//! Server-sent events on one connection for several operations: the "single connection mode" of
//! <https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md>
//!
//! A client makes a stream reservation, and opens the stream with the token of that reservation. Separate requests with
//! the token start operations on the stream. The stream belongs to the subject that reserved it.

mod requests;

use std::{
    collections::HashMap,
    mem,
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_graphql::Response as GraphqlResponse;
use axum::http::StatusCode;
use futures_util::{
    Stream, StreamExt,
    stream::{AbortHandle, Abortable, BoxStream, SelectAll},
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

use super::{End, Event, busy, graphql_error, json, sse, text, token_ended, too_many};
use crate::{
    config::Config,
    edge::{
        Edge,
        auth::Caller,
        error_response::ErrorResponse,
        shares::{Client, LimitReached, Permit, Shares},
    },
    error::Error,
    locks::lock,
};

pub(in crate::edge) use requests::routes;

/// The reserved and open event streams of this gateway.
pub(super) struct Reservations {
    /// The limit on reservations that aren't open yet.
    waiting: Arc<Shares>,
    /// Time limit for opening a reservation.
    wait: Duration,
    /// Maximum number of operations on one stream.
    operations: usize,
    /// Maximum number of bytes of the requests of these operations.
    bytes: usize,
    /// Reservations by token.
    held: Mutex<HashMap<String, Reservation>>,
}

struct Reservation {
    /// The caller that made the reservation.
    owner: Caller,
    /// Time until which the reservation can be opened.
    until: Instant,
    /// The permit of a reservation that isn't open yet; `None` once the stream is open.
    waiting: Option<Permit>,
    /// Operations that the stream hasn't picked up yet; they are also in `running`.
    pending: Vec<Operation>,
    /// Wakes the stream when an operation was added.
    added: Arc<Notify>,
    /// Handles that stop the operations, and the bytes of their requests, by the client's id.
    running: HashMap<String, (AbortHandle, usize)>,
}

/// The events of one operation, each with the client's id of it.
type Operation = Abortable<BoxStream<'static, (Arc<str>, Event)>>;

impl Reservation {
    fn is_open(&self) -> bool {
        self.waiting.is_none()
    }
}

impl Reservations {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            waiting: Shares::of(config.live_reservations, config.client_share_percent),
            wait: Duration::from_millis(config.live_reservation_millis),
            operations: config.live_operations,
            bytes: config.body_bytes,
            held: Mutex::default(),
        }
    }

    /// Reserves a stream.
    fn reserve(&self, token: String, owner: Caller, client: Client) -> Result<(), ErrorResponse> {
        let now = Instant::now();
        let mut held = lock(&self.held);
        remove_expired(&mut held, now);
        let waiting = self.waiting.acquire(Some(client)).map_err(|reached| match reached {
            LimitReached::Total => busy("too many event streams are reserved; try again later"),
            LimitReached::Share => {
                too_many("this client has reached its share of the reserved event streams")
            }
        })?;
        let reservation = Reservation {
            owner,
            until: now + self.wait,
            waiting: Some(waiting),
            pending: Vec::new(),
            added: Arc::default(),
            running: HashMap::new(),
        };
        held.insert(token, reservation);
        Ok(())
    }

    /// Removes at intervals the reservations that weren't opened in time. The requests of their operations are kept until then.
    pub(super) async fn forget_expired(&self) {
        loop {
            sleep(self.wait).await;
            remove_expired(&mut lock(&self.held), Instant::now());
        }
    }

    /// Opens a reserved stream. The token is sufficient, because a browser's `EventSource` can't send
    /// headers. An authenticated caller must be the owner.
    fn open(&self, token: &str, caller: &Caller) -> Result<(Caller, Arc<Notify>), ErrorResponse> {
        let mut held = lock(&self.held);
        let by_token = caller.requester.subject.is_none();
        let reservation = find(&mut held, token, |owner| by_token || is_same(owner, caller))?;
        if reservation.is_open() {
            let error = Error::bad_input("token", "its event stream is open already");
            return Err((StatusCode::CONFLICT, error));
        }
        reservation.waiting = None;
        Ok((reservation.owner.clone(), Arc::clone(&reservation.added)))
    }

    /// Starts an operation on a stream. It has the client's id, and a request of so many bytes. If the stream isn't open
    /// yet, the operation starts when it is opened; until then its request is kept.
    fn begin(
        &self,
        token: &str,
        caller: &Caller,
        (id, bytes): (String, usize),
        events: impl Stream<Item = Event> + Send + 'static,
    ) -> Result<(), ErrorResponse> {
        let mut held = lock(&self.held);
        let reservation = find(&mut held, token, |owner| is_same(owner, caller))?;
        if reservation.running.contains_key(&id) {
            let error =
                Error::bad_input("extensions.operationId", "is the id of a running operation");
            return Err((StatusCode::CONFLICT, error));
        }
        if reservation.running.len() >= self.operations {
            return Err(busy("the event stream has reached its limit of operations"));
        }
        let held: usize = reservation.running.values().map(|(_, bytes)| bytes).sum();
        if held + bytes > self.bytes {
            return Err(busy("the operations of the event stream have reached its limit of bytes"));
        }
        let key: Arc<str> = id.as_str().into();
        let events = events.map(move |event| (Arc::clone(&key), event)).boxed();
        let (abort, aborted) = AbortHandle::new_pair();
        reservation.pending.push(Abortable::new(events, aborted));
        reservation.running.insert(id, (abort, bytes));
        reservation.added.notify_one();
        Ok(())
    }

    /// Stops an operation; an unknown one has ended already.
    fn stop(&self, token: &str, caller: &Caller, id: &str) -> Result<(), ErrorResponse> {
        let mut held = lock(&self.held);
        let reservation = find(&mut held, token, |owner| is_same(owner, caller))?;
        if let Some((running, _)) = reservation.running.remove(id) {
            running.abort();
            reservation.pending.retain(|operation| !operation.is_aborted());
        }
        Ok(())
    }

    /// Takes the operations that the stream hasn't picked up yet.
    fn take_pending(&self, token: &str) -> Vec<Operation> {
        let mut held = lock(&self.held);
        held.get_mut(token)
            .map(|reservation| mem::take(&mut reservation.pending))
            .unwrap_or_default()
    }

    fn ended(&self, token: &str, id: &str) {
        if let Some(reservation) = lock(&self.held).get_mut(token) {
            reservation.running.remove(id);
        }
    }
}

/// Removes the reservations that weren't opened in time.
fn remove_expired(held: &mut HashMap<String, Reservation>, now: Instant) {
    held.retain(|_, reservation| reservation.is_open() || now < reservation.until);
}

/// The reservation for a token. The error doesn't show whether it exists but belongs to somebody else.
fn find<'a>(
    held: &'a mut HashMap<String, Reservation>,
    token: &str,
    admits: impl Fn(&Caller) -> bool,
) -> Result<&'a mut Reservation, ErrorResponse> {
    let found = held.get_mut(token).filter(|reservation| {
        (reservation.is_open() || Instant::now() < reservation.until) && admits(&reservation.owner)
    });
    let unknown = || Error::bad_input("token", "isn't the token of an event stream of this caller");
    found.ok_or_else(|| (StatusCode::NOT_FOUND, unknown()))
}

fn is_same(owner: &Caller, caller: &Caller) -> bool {
    owner.requester.subject == caller.requester.subject
}

/// An open stream. When its connection ends, the reservation and its operations are dropped.
struct Open {
    edge: Edge,
    token: String,
}

impl Drop for Open {
    fn drop(&mut self) {
        lock(&self.edge.live.reservations.held).remove(&self.token);
    }
}

impl Open {
    /// The events of the stream. It ends when the owner's token has expired and no operation is running, or
    /// when the gateway shuts down.
    fn chunks(
        self,
        owner: &Caller,
        added: Arc<Notify>,
    ) -> impl Stream<Item = String> + Send + use<> {
        let token_ended = token_ended(owner);
        async_stream::stream! {
            let mut token_ended = pin!(token_ended);
            let mut running: SelectAll<Operation> = SelectAll::new();
            loop {
                let (id, event) = tokio::select! {
                    biased;
                    () = self.edge.closing.cancelled() => return,
                    () = added.notified() => {
                        running.extend(self.edge.live.reservations.take_pending(&self.token));
                        continue;
                    }
                    next = running.next(), if !running.is_empty() => match next {
                        Some(next) => next,
                        None => continue,
                    },
                    () = &mut token_ended, if running.is_empty() => return,
                };
                yield self.chunk(&id, event);
            }
        }
    }

    fn chunk(&self, id: &str, event: Event) -> String {
        if let Event::End(_) = event {
            self.edge.live.reservations.ended(&self.token, id);
        }
        match event {
            Event::Response(response) => next(id, &response),
            Event::End(End::Complete) => complete(id),
            Event::End(End::TokenEnded) => {
                next(id, &graphql_error(Error::BadToken)) + &complete(id)
            }
            Event::End(End::Stopping) => String::new(),
        }
    }
}

fn next(id: &str, response: &GraphqlResponse) -> String {
    sse::next(&format!("{{\"id\":{},\"payload\":{}}}", json(&id), text(response)))
}

fn complete(id: &str) -> String {
    format!("event: complete\ndata: {{\"id\":{}}}\n\n", json(&id))
}
