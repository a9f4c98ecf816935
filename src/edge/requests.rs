//! What every request has: an id, a caller, the address of its client, and a body.

use std::net::IpAddr;

use axum::{
    body::{Body as HttpBody, Bytes},
    http::{HeaderMap, HeaderName, StatusCode, request::Parts},
};
use tokio::time::timeout;
use tracing::Instrument as _;

use super::{
    Edge, auth::Caller, error_response::ErrorResponse, receive, received_bytes::ReceivedBytes,
    server::Peer, shares::Client,
};
use crate::{error::Error, graphql::requester::Role, traces};

/// Header with the request's id. A valid id of the client is used, and the id is sent back.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Header with which an admin requests the MongoDB commands of an operation.
const EXPLAIN: &str = "x-docgate-explain";

impl Edge {
    /// Authenticates the request and charges its client's rate.
    pub(super) async fn caller(&self, head: &Parts) -> Result<Caller, Error> {
        let caller = self.authenticator.caller(&head.headers);
        let caller = caller.instrument(traces::authenticate()).await;
        // Requests with invalid tokens are limited too.
        let requester = caller.as_ref().map(|caller| &caller.requester).ok();
        self.limits.admit(self.limits.client(requester, self.address(head)))?;
        caller
    }

    /// The client whose rate and shares the request uses.
    pub(super) fn client(&self, caller: &Caller, head: &Parts) -> Client {
        self.limits.client(Some(&caller.requester), self.address(head))
    }

    /// Does work as one of the concurrent requests of a client, within the time limit.
    ///
    /// # Errors
    /// Those of the work; `Overloaded`, `RateLimited` or `Timeout`.
    pub(super) async fn work<T>(
        &self,
        client: Client,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let _permit = self.limits.begin(client)?;
        let done = timeout(self.limits.time, work).await;
        done.map_err(|elapsed| Error::Timeout(elapsed.into()))?
    }

    /// Receives the body within the time limit.
    pub(super) async fn receive(
        &self,
        head: &Parts,
        body: HttpBody,
    ) -> Result<Bytes, ErrorResponse> {
        let max = self.app.config().body_bytes;
        let counted = ReceivedBytes::of(head);
        let received = receive::whole(body, max, counted.as_deref());
        let timed_out = |_elapsed| {
            let error = Error::bad_input("body", "wasn't received in time");
            Err((StatusCode::REQUEST_TIMEOUT, error))
        };
        timeout(self.limits.receive, received).await.unwrap_or_else(timed_out)
    }

    /// The client's address.
    pub(super) fn address(&self, head: &Parts) -> IpAddr {
        let peer =
            head.extensions.get::<Peer>().map_or(IpAddr::from([0; 4]), |peer| peer.address.ip());
        self.limits.address(&head.headers, peer)
    }

    /// Whether the response lists the MongoDB commands. In development mode it does unless the header says `false`.
    pub(super) fn is_explained(&self, headers: &HeaderMap, caller: &Caller) -> bool {
        let development = self.app.config().development;
        let is_asked = headers.get(EXPLAIN).map_or(development, |value| value != "false");
        is_asked && (development || caller.requester.has(Role::Admin))
    }
}

/// The request's id: the client's own if it is valid, otherwise a new one.
pub(super) fn request_id(edge: &Edge, headers: &HeaderMap) -> String {
    let is_valid = |id: &&str| {
        (1..=64).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    headers
        .get(&REQUEST_ID)
        .and_then(|id| id.to_str().ok())
        .filter(is_valid)
        .map_or_else(|| edge.app.ids().random(), str::to_owned)
}
