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
    admission::{self, Admission, ConnectionLimit, SINGLE_HEAD_TIMEOUT, SINGLE_TIMEOUT},
    connection::{self, Connection},
    counted::CountedStream,
    limits::Limits,
    live,
    received_bytes::ReceivedBytes,
    repoll::repoll,
};
use crate::config::{self, Config};

/// The address of the client's end of a connection, and the count of its bytes.
#[derive(Clone)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    pub(super) received: Arc<ReceivedBytes>,
}

/// Pause after a failed `accept`, for example because no file descriptors are left.
const PAUSE: Duration = Duration::from_millis(100);
/// During shutdown, time for reading data that have just arrived.
const LAST_READ: Duration = Duration::from_millis(100);

/// Serves the connections of one listener.
pub(super) struct Server {
    pub(super) routes: Routes,
    pub(super) limits: Arc<Limits>,
    connection_limit: ConnectionLimit,
    http: http1::Builder,
    /// For connections that get a single response.
    single_http: http1::Builder,
    /// How long a client may accept no data.
    client_timeout: Duration,
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
        let mut single_http = http.clone();
        single_http.keep_alive(false).header_read_timeout(SINGLE_HEAD_TIMEOUT);
        Arc::new(Self {
            routes,
            limits,
            connection_limit: ConnectionLimit::of(config),
            http,
            single_http,
            client_timeout: live::client_timeout(config),
            stopping: stop,
            closing,
            connections: TaskTracker::new(),
        })
    }

    /// Accepts connections until `stopping`, and for the time `linger` after it. In this time each response
    /// announces that its connection closes. Connections that are idle afterwards are closed; the others
    /// finish their request.
    pub(super) async fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        linger: Duration,
    ) -> TaskTracker {
        tokio::select! {
            never = self.accept_all(&listener) => match never {},
            () = self.stopping.cancelled() => {}
        }
        self.connections.close();
        let all_closed = async {
            self.connections.wait().await;
            sleep(LAST_READ.min(linger)).await;
        };
        tokio::select! {
            never = self.accept_all(&listener) => match never {},
            () = sleep(linger) => {}
            () = all_closed => {}
        }
        while let Some(Ok((stream, address))) = self.accept(&listener).now_or_never() {
            self.start(stream, address);
        }
        drop(listener);
        let _all_closed = timeout(LAST_READ.min(linger), self.connections.wait()).await;
        self.closing.cancel();
        self.connections.clone()
    }

    async fn accept_all(self: &Arc<Self>, listener: &TcpListener) -> Infallible {
        loop {
            match self.accept(listener).await {
                Ok((stream, address)) => self.start(stream, address),
                Err(fault) => {
                    tracing::warn!(event = "accept_failed", %fault, "a connection could not be accepted");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// Accepts the next connection. On Linux the kernel disconnects a client that accepts no data for too
    /// long.
    async fn accept(&self, listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, address) = listener.accept().await?;
        // Nagle's algorithm would delay a response until the previous one is acknowledged.
        stream.set_nodelay(true)?;
        #[cfg(target_os = "linux")]
        socket2::SockRef::from(&stream).set_tcp_user_timeout(Some(self.client_timeout))?;
        Ok((stream, address))
    }

    /// Starts serving a connection, or rejects it.
    fn start(self: &Arc<Self>, stream: TcpStream, address: SocketAddr) {
        let peer = self.limits.peer(address.ip());
        match self.connection_limit.admit(peer) {
            Ok(admission) => {
                let received = ReceivedBytes::new(self.limits.receive_from(peer), peer);
                let stream = CountedStream::new(stream, Arc::clone(&received));
                let peer = Peer { address, received };
                let connection = Connection::new(Arc::clone(self), peer, admission.over_limit);
                self.connections.spawn(Arc::clone(self).run(stream, connection, admission));
            }
            Err(reached) => admission::reject(&stream, reached),
        }
    }

    /// Serves the requests of a connection until it ends.
    async fn run(
        self: Arc<Self>,
        stream: CountedStream,
        connection: Connection,
        admission: Admission,
    ) {
        let (http, time_limit) = match admission.over_limit {
            None => (&self.http, None),
            Some(_) => (&self.single_http, Some(SINGLE_TIMEOUT)),
        };
        let address = connection.address();
        let service = connection::service(connection);
        let connection = http.serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection.with_upgrades());
        let ended = repoll(async {
            tokio::select! {
                biased;
                ended = connection.as_mut() => ended,
                () = self.closing.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            }
        });
        let ended = match time_limit {
            Some(limit) => timeout(limit, ended).await.unwrap_or(Ok(())),
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
        drop(admission);
    }
}
