//! The requests of one connection, one after the other.

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
    door,
    drain::Unread,
    server::{Peer, Server},
    shares::Full,
};

/// The context of a connection for its requests.
pub(super) struct Visit {
    server: Arc<Server>,
    peer: Peer,
    unread: Arc<Unread>,
    /// Why the connection gets only a single response, if so.
    refused: Option<Full>,
}

/// The service that answers the requests of a connection.
pub(super) fn service(
    visit: Visit,
) -> impl HttpService<Incoming, ResBody = Body, Error = Infallible, Future: Send> {
    let visit = Arc::new(visit);
    service_fn(move |request| {
        let visit = Arc::clone(&visit);
        async move { Ok::<_, Infallible>(visit.answer(request).await) }
    })
}

impl Visit {
    pub(super) fn new(server: Arc<Server>, peer: Peer, refused: Option<Full>) -> Self {
        Self { server, peer, unread: Arc::default(), refused }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.peer.address
    }

    async fn answer(&self, mut request: Request<Incoming>) -> Response {
        let limits = &self.server.limits;
        let intake = &self.peer.intake;
        let address = limits.address(request.headers(), self.peer.address.ip());
        intake.begin(limits.client(None, address), &request);
        request.extensions_mut().insert(self.peer.clone());
        // A client that sends `Expect: 100-continue` hasn't sent its body yet.
        let awaits = !request.headers().contains_key(header::EXPECT);
        let request = request.map(|body| Body::new(self.unread.watch(body, intake)));
        let mut response = match self.refused {
            Some(full) if !door::is_for_operators(request.uri().path()) => door::turned_away(full),
            _ => self.server.routes.answer(request).await,
        };
        if awaits {
            self.unread.read().await;
        }
        let is_whole = response.body().size_hint().exact().is_some();
        let is_too_much = intake.end(is_whole).is_err();
        if is_too_much || self.server.stopping.is_cancelled() {
            is_last(&mut response);
        }
        response
    }
}

/// Announces that the connection closes after this response, unless it becomes a WebSocket.
fn is_last(response: &mut Response) {
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
}
