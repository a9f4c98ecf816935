//! Connections: taken on up to a bound, each with time limits, and ended in order.

use std::{convert::Infallible, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::{body::Body, extract::Request, http::header};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Routes, again::at_once, live, unread::Unread};
use crate::config::Config;

/// Who is at the other end of the connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

/// Pause after a connection couldn't be taken, such as for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Takes connections until `stop`, then lets each finish the request that it is in.
pub(super) async fn serve(
    listener: TcpListener,
    routes: Routes,
    config: &Config,
    stop: CancellationToken,
) -> TaskTracker {
    let (connections, routes) = (TaskTracker::new(), Arc::new(routes));
    let room = Arc::new(Semaphore::new(config.max_connections));
    let patience = live::patience(config);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new());
    http.header_read_timeout(Duration::from_millis(config.idle_millis));
    loop {
        let taken = tokio::select! {
            taken = take(&listener, &room, patience) => taken,
            () = stop.cancelled() => break,
        };
        let (stream, peer, permit) = match taken {
            Ok(taken) => taken,
            Err(fault) => {
                tracing::warn!(%fault, "a connection couldn't be taken");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let (routes, stop) = (Arc::clone(&routes), stop.clone());
        let unread = Arc::new(Unread::default());
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            let (routes, unread) = (Arc::clone(&routes), Arc::clone(&unread));
            // Who expects to be told to go on hasn't sent anything yet.
            let awaits = !request.headers().contains_key(header::EXPECT);
            async move {
                let request = request.map(|body| Body::new(unread.watch(body)));
                let response = routes.answer(request).await;
                if awaits {
                    unread.read().await;
                }
                Ok::<_, Infallible>(response)
            }
        });
        let connection = http.serve_connection(TokioIo::new(stream), service).with_upgrades();
        connections.spawn(async move {
            let mut connection = pin!(connection);
            let ended = async {
                tokio::select! {
                    ended = connection.as_mut() => ended,
                    () = stop.cancelled() => {
                        connection.as_mut().graceful_shutdown();
                        connection.await
                    }
                }
            };
            if let Err(fault) = at_once(ended).await {
                tracing::debug!(%fault, %peer, "a connection ended early");
            }
            drop(permit);
        });
    }
    connections.close();
    connections
}

/// The next connection, once there is room for it. Where the system can, it cuts off a client that takes
/// nothing for `patience`.
async fn take(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
    patience: Duration,
) -> io::Result<(TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(room).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    // An answer isn't held back until the one before has arrived.
    stream.set_nodelay(true)?;
    #[cfg(target_os = "linux")]
    socket2::SockRef::from(&stream).set_tcp_user_timeout(Some(patience))?;
    Ok((stream, peer, permit))
}
