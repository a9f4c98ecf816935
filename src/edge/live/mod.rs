//! Long-lived responses: WebSocket, server-sent events and multipart HTTP.
//!
//! On every transport an operation ends for one of three reasons ([`End`]). The next response is taken only after
//! the previous one was handed to the connection. A slow client therefore delays only its own operations, and
//! these skip to the newest state (`graphql::subscription`). Responses that are ready at the same time are written
//! together.

mod frames;
mod messages;
pub(super) mod multipart;
pub(super) mod origin;
pub(super) mod reservations;
pub(super) mod socket;
pub(super) mod sse;

use std::{convert::Infallible, pin::pin, sync::Arc, time::Duration};

use async_graphql::Response as GraphqlResponse;
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
    error_response::{ErrorResponse, LATER, answer},
    response_writer::serialized,
    shares::{Client, LimitReached, Permit, Shares},
};
use crate::{config::Config, error::Error, graphql::errors};

use reservations::Reservations;

/// The shared state of a gateway's long-lived connections.
pub(super) struct Live {
    connections: Arc<Shares>,
    reservations: Reservations,
    /// Interval between two heartbeats to a client.
    ping: Duration,
}

impl Live {
    /// No connections yet; limits from the configuration.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            connections: Shares::of(config.live_connections, config.client_share_percent),
            reservations: Reservations::new(config),
            ping: Duration::from_millis(config.live_ping_millis),
        }
    }

    /// Removes at intervals the reserved event streams that weren't opened in time.
    pub(super) async fn forget_expired(&self) {
        self.reservations.forget_expired().await;
    }

    /// Acquires the permit of a connection.
    fn admit(&self, client: Client) -> Result<Permit, ErrorResponse> {
        self.connections.acquire(Some(client)).map_err(|reached| match reached {
            LimitReached::Total => {
                busy("this gateway has reached its limit of connections; try again later")
            }
            LimitReached::Share => too_many("this client has reached its share of the connections"),
        })
    }
}

/// Time after which a client is disconnected if it accepts no data, or sends no data that it should send.
pub(super) fn client_timeout(config: &Config) -> Duration {
    Duration::from_millis(config.live_ping_millis) * 2
}

/// An event of a followed operation.
#[expect(clippy::large_enum_variant, reason = "nearly all of them are responses")]
enum Event {
    /// A response.
    Response(GraphqlResponse),
    /// The end.
    End(End),
}

/// The reason for the end of an operation.
enum End {
    /// All responses were sent.
    Complete,
    /// The caller's token has expired, or its key is removed.
    TokenEnded,
    /// The gateway is shutting down.
    Stopping,
}

/// The responses of an operation while they are permitted, followed by the reason for the end.
fn events(
    edge: &Edge,
    mut responses: BoxStream<'static, GraphqlResponse>,
    caller: &Caller,
) -> impl Stream<Item = Event> + Send + use<> {
    let closing = edge.closing.clone();
    let token_ended = token_ended(caller);
    async_stream::stream! {
        let mut token_ended = pin!(token_ended);
        loop {
            let event = tokio::select! {
                biased;
                () = closing.cancelled() => Event::End(End::Stopping),
                () = &mut token_ended => Event::End(End::TokenEnded),
                response = responses.next() => response.map_or(Event::End(End::Complete), Event::Response),
            };
            let is_over = matches!(event, Event::End(_));
            yield event;
            if is_over {
                return;
            }
        }
    }
}

/// Waits until the caller's token would be refused, because it has expired or its key is removed. For an anonymous caller it
/// waits for ever.
fn token_ended(caller: &Caller) -> impl Future<Output = ()> + Send + use<> {
    let (until, withdrawn) = (caller.until, caller.withdrawn.clone());
    async move {
        let Some(withdrawn) = withdrawn else { return expired(until).await };
        tokio::select! {
            () = withdrawn.cancelled() => {}
            () = expired(until) => {}
        }
    }
}

/// Waits until a token that is valid until `until` (time since the Unix epoch) would be refused. Without an
/// end it waits for ever.
async fn expired(until: Option<Duration>) {
    /// Limits the effect of clock changes during the wait.
    const LONGEST: Duration = Duration::from_secs(60);
    const SHORTEST: Duration = Duration::from_millis(250);
    let Some(until) = until else { return std::future::pending().await };
    loop {
        // The same clock and rule as in the authenticator.
        let now = Duration::from_secs(get_current_timestamp());
        if now > until {
            return;
        }
        sleep(until.saturating_sub(now).clamp(SHORTEST, LONGEST)).await;
    }
}

/// A streamed body. `heartbeat` is sent whenever no other data were sent for the heartbeat interval. The body holds
/// the permit of the connection until it is dropped. It ends before a chunk that exceeds what the client may leave untaken.
fn body(
    edge: &Edge,
    (client, permit): (Client, Permit),
    heartbeat: &'static str,
    chunks: impl Stream<Item = String> + Send + 'static,
) -> Body {
    let (interval, unsent) = (edge.live.ping, edge.limits.unsent.clone());
    Body::from_stream(async_stream::stream! {
        let _permit = permit;
        let mut chunks = pin!(chunks);
        loop {
            let chunk = match timeout(interval, chunks.next()).await {
                Ok(Some(chunk)) => match unsent.counted(client, chunk.into()) {
                    Ok(chunk) => chunk,
                    Err(_reached) => return,
                },
                Ok(None) => return,
                Err(_elapsed) => Bytes::from_static(heartbeat.as_bytes()),
            };
            yield Ok::<_, Infallible>(chunk);
        }
    })
}

/// A GraphQL response that holds only an error.
fn graphql_error(error: Error) -> GraphqlResponse {
    errors::finished(error, "")
}

/// An error as an HTTP response in JSON.
fn http_error(error: ErrorResponse) -> Response {
    answer(error, LATER)
}

/// The gateway's limit is reached.
fn busy(what: &'static str) -> ErrorResponse {
    (StatusCode::SERVICE_UNAVAILABLE, Error::rate_limited(what))
}

/// The client's share is used up.
fn too_many(what: &'static str) -> ErrorResponse {
    (StatusCode::TOO_MANY_REQUESTS, Error::rate_limited(what))
}

/// A response in JSON, which can be text in part.
fn text(response: &GraphqlResponse) -> String {
    let text = serialized(response, true, None).unwrap_or_default();
    String::from_utf8(text).unwrap_or_default()
}

/// Serialises a value to JSON.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
