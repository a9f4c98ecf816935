//! A gateway from its start to its stop, as `serve` and `demo` run it.

use std::{io, net::SocketAddr, process, time::Duration};

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::failure::Failure;
use crate::{app::App, background, config::Config, edge::Edge};

/// Takes the address to serve on.
async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|fault| {
        let reason = match fault.kind() {
            io::ErrorKind::AddrInUse => "it is taken by another process".to_owned(),
            io::ErrorKind::PermissionDenied => "this user may not".to_owned(),
            io::ErrorKind::AddrNotAvailable => "this machine doesn't have that address".to_owned(),
            _ => fault.to_string(),
        };
        Failure::trouble(format!("can't listen on {address}: {reason}"))
    })
}

/// Where a gateway listens.
pub(super) struct Listeners {
    /// For everyone.
    pub(super) public: TcpListener,
    /// For operators, where they have an address of their own.
    pub(super) admin: Option<TcpListener>,
}

impl Listeners {
    /// Takes the addresses of a configuration.
    pub(super) async fn open(config: &Config) -> Result<Self, Failure> {
        let public = listen(config.listen).await?;
        let admin = match config.admin_listen {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        Ok(Self { public, admin })
    }
}

/// Serves until `stop`, then finishes what is under way. Operators are served to the very end.
pub(super) async fn serve(app: App, edge: Edge, listeners: Listeners, stop: CancellationToken) {
    let Listeners { public, admin } = listeners;
    let ended = CancellationToken::new();
    let admin = admin.map(|admin| tokio::spawn(edge.clone().serve_admin(admin, ended.clone())));
    let sweeps = app
        .config()
        .background
        .then(|| tokio::spawn(background::run(app.clone(), stop.child_token())));
    edge.serve(public, stop.clone()).await;
    stop.cancel();
    if let Some(sweeps) = sweeps
        && tokio::time::timeout(app.bounds().one(), sweeps).await.is_err()
    {
        tracing::warn!("a sweep was still under way; the next gateway goes on with it");
    }
    ended.cancel();
    if let Some(admin) = admin
        && tokio::time::timeout(LAST_ANSWER, admin).await.is_err()
    {
        tracing::debug!("an operator's connection was still open");
    }
}

/// How long an operator's last answer may take.
const LAST_ANSWER: Duration = Duration::from_millis(500);

/// Cancelled by the first SIGINT (Ctrl-C) or SIGTERM. The second one ends the process at once.
pub(super) fn stop_on_signals() -> Result<CancellationToken, Failure> {
    let stop = CancellationToken::new();
    let told = stop.clone();
    let mut signals = Signals::new()
        .map_err(|fault| Failure::trouble(format!("signals can't be received: {fault}")))?;
    tokio::spawn(async move {
        signals.next().await;
        told.cancel();
        signals.next().await;
        process::exit(130);
    });
    Ok(stop)
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        // Without a handler the console ends the process itself.
        let _unheard = tokio::signal::ctrl_c().await;
    }
}
