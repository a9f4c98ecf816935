//! The connection server: admission, time limits and graceful shutdown.

use std::{convert::Infallible, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Routes,
    counted::Counted,
    door::{self, BRIEF_HEAD, BRIEF_VISIT, Door, Place},
    intake::Intake,
    limits::Limits,
    live,
    repoll::at_once,
    visit::{self, Visit},
};
use crate::config::{self, Config};

/// The address of the client's end of a connection, and the account of its bytes.
#[derive(Clone)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    pub(super) intake: Arc<Intake>,
}

/// Pause after a failed `accept`, for example because no file descriptors are left.
const PAUSE: Duration = Duration::from_millis(100);
/// During shutdown, time for reading data that have just arrived.
const MOMENT: Duration = Duration::from_millis(100);

/// Serves the connections of one listener.
pub(super) struct Server {
    pub(super) routes: Routes,
    pub(super) limits: Arc<Limits>,
    door: Door,
    http: http1::Builder,
    /// For connections that get a single response.
    brief: http1::Builder,
    /// How long a client may accept no data.
    patience: Duration,
    /// The gateway is about to stop. Each next response announces that its connection closes.
    pub(super) stopping: CancellationToken,
    /// The listener is closed, and idle connections are being closed.
    closing: CancellationToken,
    connections: TaskTracker,
}

impl Server {
    pub(super) fn new(
        routes: Routes,
        limits: Arc<Limits>,
        config: &Config,
        stop: CancellationToken,
        closing: CancellationToken,
    ) -> Arc<Self> {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new());
        http.max_header_size(config.head_bytes).max_buf_size(config.head_bytes.max(config::BUFFER));
        http.header_read_timeout(Duration::from_millis(config.idle_millis));
        let mut brief = http.clone();
        brief.keep_alive(false).header_read_timeout(BRIEF_HEAD);
        Arc::new(Self {
            routes,
            limits,
            door: Door::of(config),
            http,
            brief,
            patience: live::patience(config),
            stopping: stop,
            closing,
            connections: TaskTracker::new(),
        })
    }

    /// Accepts connections until `stopping`, and for `farewell` longer. During that time each response
    /// announces that its connection closes. Connections that are idle afterwards are closed; the others
    /// finish their request.
    pub(super) async fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        farewell: Duration,
    ) -> TaskTracker {
        tokio::select! {
            never = self.welcome(&listener) => match never {},
            () = self.stopping.cancelled() => {}
        }
        self.connections.close();
        let all_left = async {
            self.connections.wait().await;
            sleep(MOMENT.min(farewell)).await;
        };
        tokio::select! {
            never = self.welcome(&listener) => match never {},
            () = sleep(farewell) => {}
            () = all_left => {}
        }
        while let Some(Ok((stream, address))) = self.take(&listener).now_or_never() {
            self.let_in(stream, address);
        }
        drop(listener);
        let _all_left = timeout(MOMENT.min(farewell), self.connections.wait()).await;
        self.closing.cancel();
        self.connections.clone()
    }

    async fn welcome(self: &Arc<Self>, listener: &TcpListener) -> Infallible {
        loop {
            match self.take(listener).await {
                Ok((stream, address)) => self.let_in(stream, address),
                Err(fault) => {
                    tracing::warn!(event = "accept_failed", %fault, "a connection could not be accepted");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// Accepts the next connection. On Linux the kernel disconnects a client that accepts no data for too
    /// long.
    async fn take(&self, listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, address) = listener.accept().await?;
        // Nagle's algorithm would delay a response until the previous one is acknowledged.
        stream.set_nodelay(true)?;
        #[cfg(target_os = "linux")]
        socket2::SockRef::from(&stream).set_tcp_user_timeout(Some(self.patience))?;
        Ok((stream, address))
    }

    fn let_in(self: &Arc<Self>, stream: TcpStream, address: SocketAddr) {
        let peer = self.limits.peer(address.ip());
        match self.door.let_in(peer) {
            Ok(place) => {
                let intake = Intake::new(self.limits.receive_from(peer), peer);
                let stream = Counted::new(stream, Arc::clone(&intake));
                let visit = Visit::new(Arc::clone(self), Peer { address, intake }, place.refused);
                self.connections.spawn(Arc::clone(self).converse(stream, visit, place));
            }
            Err(full) => door::refuse(&stream, full),
        }
    }

    /// Serves the requests of a connection until it ends.
    async fn converse(self: Arc<Self>, stream: Counted, visit: Visit, place: Place) {
        let (http, most) = match place.refused {
            None => (&self.http, None),
            Some(_) => (&self.brief, Some(BRIEF_VISIT)),
        };
        let address = visit.address();
        let connection = http.serve_connection(TokioIo::new(stream), visit::service(visit));
        let mut connection = pin!(connection.with_upgrades());
        let ended = at_once(async {
            tokio::select! {
                biased;
                ended = connection.as_mut() => ended,
                () = self.closing.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            }
        });
        let ended = match most {
            Some(most) => timeout(most, ended).await.unwrap_or(Ok(())),
            None => ended.await,
        };
        if let Err(fault) = ended {
            tracing::debug!(
                event = "connection_failed",
                %fault,
                %address,
                "a connection ended with an error"
            );
        }
        drop(place);
    }
}
