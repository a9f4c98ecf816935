//! Answers that go on: over WebSocket, as server-sent events, as multipart HTTP.
//!
//! Whatever carries an operation, its answers end in one of three ways ([`End`]), and nothing is sent
//! before what was sent earlier is on its way: a slow client holds up its own operations only, and
//! these collapse to the newest state (`graphql::subscription`).

mod messages;
pub(super) mod multipart;
pub(super) mod origin;
pub(super) mod reservations;
pub(super) mod socket;
pub(super) mod sse;

use std::{convert::Infallible, pin::pin, sync::Arc, time::Duration};

use async_graphql::Response as Answer;
use axum::{
    body::{Body, Bytes},
    http::StatusCode,
    response::Response,
};
use futures_util::{Stream, StreamExt, stream::BoxStream};
use jsonwebtoken::get_current_timestamp;
use tokio::time::{sleep, timeout};

use super::{
    Edge,
    auth::Caller,
    refusal::{self, LATER, Refusal, refused},
    shares::{Client, Full, Held, Shares},
};
use crate::{config::Config, error::Error, graphql::errors};

use reservations::Reservations;

/// What this gateway's connections share that go on.
pub(super) struct Live {
    connections: Arc<Shares>,
    reservations: Reservations,
    /// Pause between two signs of life to a client.
    ping: Duration,
}

impl Live {
    /// None yet, bounded as configured.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            connections: Shares::of(config.live_connections, config.client_share_percent),
            reservations: Reservations::new(config),
            ping: Duration::from_millis(config.live_ping_millis),
        }
    }

    /// A place for one more connection.
    fn admit(&self, client: Client) -> Result<Held, Refusal> {
        self.connections.take(Some(client)).map_err(|full| match full {
            Full::All => busy("this gateway holds as many connections as it may; try again later"),
            Full::Share => too_many("this client holds as many connections as it may"),
        })
    }
}

/// How long a client may take nothing, or say nothing where it should, before it is cut off.
pub(super) fn patience(config: &Config) -> Duration {
    Duration::from_millis(config.live_ping_millis) * 2
}

/// What happens to an operation that somebody follows.
#[expect(clippy::large_enum_variant, reason = "nearly all of them are answers")]
enum Event {
    /// It answers.
    Answer(Answer),
    /// It is over.
    End(End),
}

/// Why an operation is over.
enum End {
    /// Everything was answered.
    Complete,
    /// The caller's token doesn't hold any more.
    TokenEnded,
    /// The gateway is about to stop.
    Stopping,
}

/// The answers for as long as they may be given, and why they ended.
fn events(
    edge: &Edge,
    mut answers: BoxStream<'static, Answer>,
    caller: &Caller,
) -> impl Stream<Item = Event> + Send + use<> {
    let closing = edge.closing.clone();
    let token_ended = token_ended(caller.until);
    async_stream::stream! {
        let mut token_ended = pin!(token_ended);
        loop {
            let event = tokio::select! {
                biased;
                () = closing.cancelled() => Event::End(End::Stopping),
                () = &mut token_ended => Event::End(End::TokenEnded),
                answer = answers.next() => answer.map_or(Event::End(End::Complete), Event::Answer),
            };
            let is_over = matches!(event, Event::End(_));
            yield event;
            if is_over {
                return;
            }
        }
    }
}

/// Waits until a token that holds until then (since the beginning of 1970) would be refused; for ever
/// where there is none.
async fn token_ended(until: Option<Duration>) {
    /// A clock may be set while one waits.
    const LONGEST: Duration = Duration::from_secs(60);
    const SHORTEST: Duration = Duration::from_millis(250);
    let Some(until) = until else { return std::future::pending().await };
    loop {
        // The same clock and rule as the authenticator's.
        let now = Duration::from_secs(get_current_timestamp());
        if now > until {
            return;
        }
        sleep(until.saturating_sub(now).clamp(SHORTEST, LONGEST)).await;
    }
}

/// A body that goes on; `beat` comes whenever nothing else came for the pause between two signs of
/// life. It holds its place among the connections for as long as it is there.
fn body(
    live: &Live,
    place: Held,
    beat: &'static str,
    chunks: impl Stream<Item = String> + Send + 'static,
) -> Body {
    let pause = live.ping;
    Body::from_stream(async_stream::stream! {
        let _place = place;
        let mut chunks = pin!(chunks);
        loop {
            let chunk = match timeout(pause, chunks.next()).await {
                Ok(Some(chunk)) => Bytes::from(chunk),
                Ok(None) => return,
                Err(_quiet) => Bytes::from_static(beat.as_bytes()),
            };
            yield Ok::<_, Infallible>(chunk);
        }
    })
}

/// An answer that holds nothing but why there is none.
fn told(error: Error) -> Answer {
    errors::finish(refused(error), "")
}

/// The same as a whole response in JSON.
fn refusal(refusal: Refusal) -> Response {
    refusal::answer(refusal, LATER)
}

/// The gateway has no place for another one.
fn busy(what: &'static str) -> Refusal {
    (StatusCode::SERVICE_UNAVAILABLE, Error::RateLimited(what))
}

/// The client has its share.
fn too_many(what: &'static str) -> Refusal {
    (StatusCode::TOO_MANY_REQUESTS, Error::RateLimited(what))
}

/// An answer in JSON.
fn json(answer: &impl serde::Serialize) -> String {
    serde_json::to_string(answer).unwrap_or_default()
}
