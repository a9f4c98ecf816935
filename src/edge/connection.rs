//! Serves the requests of one connection, one after the other.

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use hyper::{
    body::{Body as _, Incoming},
    service::{HttpService, service_fn},
};

use super::{
    admission,
    drain::UnreadBody,
    server::{Peer, Server},
    shares::LimitReached,
};

/// The context of a connection for its requests.
pub(super) struct Connection {
    server: Arc<Server>,
    peer: Peer,
    unread: Arc<UnreadBody>,
    /// The reached limit, if the connection gets only a single response.
    over_limit: Option<LimitReached>,
}

/// The service that answers the requests of a connection.
pub(super) fn service(
    connection: Connection,
) -> impl HttpService<Incoming, ResBody = Body, Error = Infallible, Future: Send> {
    let connection = Arc::new(connection);
    service_fn(move |request| {
        let connection = Arc::clone(&connection);
        async move { Ok::<_, Infallible>(connection.answer(request).await) }
    })
}

impl Connection {
    pub(super) fn new(server: Arc<Server>, peer: Peer, over_limit: Option<LimitReached>) -> Self {
        Self { server, peer, unread: Arc::default(), over_limit }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.peer.address
    }

    async fn answer(&self, mut request: Request<Incoming>) -> Response {
        let limits = &self.server.limits;
        let received = &self.peer.received;
        let address = limits.address(request.headers(), self.peer.address.ip());
        received.begin(limits.client(None, address), &request);
        request.extensions_mut().insert(self.peer.clone());
        // A client that sends `Expect: 100-continue` hasn't sent its body yet.
        let is_sending = !request.headers().contains_key(header::EXPECT);
        let request = request.map(|body| Body::new(self.unread.track(body, received)));
        let mut response = match self.over_limit {
            Some(reached) if !admission::is_for_operators(request.uri().path()) => {
                admission::limit_response(reached)
            }
            _ => self.server.routes.answer(request).await,
        };
        if is_sending {
            self.unread.drain().await;
        }
        let is_whole = response.body().size_hint().exact().is_some();
        let is_over_limit = received.end(is_whole).is_err();
        if is_over_limit || self.server.stopping.is_cancelled() {
            announce_close(&mut response);
        }
        response
    }
}

/// Announces that the connection closes after this response, unless it becomes a WebSocket.
fn announce_close(response: &mut Response) {
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
}
