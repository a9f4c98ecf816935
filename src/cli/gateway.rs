//! The lifetime of a gateway, for `serve` and `demo`.

use std::{io, net::SocketAddr, process, time::Duration};

use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::failure::Failure;
use crate::{app::App, background, config::Config, edge::Edge};

/// Binds the address to serve on.
async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|fault| {
        let reason = match fault.kind() {
            io::ErrorKind::AddrInUse => "it is taken by another process".to_owned(),
            io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
            io::ErrorKind::AddrNotAvailable => "this machine doesn't have that address".to_owned(),
            _ => fault.to_string(),
        };
        Failure::trouble(format!("can't listen on {address}: {reason}"))
    })
}

/// The listeners of a gateway.
pub(super) struct Listeners {
    /// For everyone.
    pub(super) public: TcpListener,
    /// For operators, if they have an address of their own.
    pub(super) admin: Option<TcpListener>,
}

impl Listeners {
    /// Binds the addresses of a configuration.
    pub(super) async fn open(config: &Config) -> Result<Self, Failure> {
        let public = listen(config.listen).await?;
        let admin = match config.admin_listen {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        Ok(Self { public, admin })
    }
}

/// The server of operators, if they have an address of their own.
pub(super) struct Operators {
    serving: Option<JoinHandle<()>>,
    ended: CancellationToken,
}

impl Operators {
    /// Begins to serve them. Until the gateway is open to clients, they hear that it lives and isn't ready.
    pub(super) fn begin(edge: &Edge, listener: Option<TcpListener>) -> Self {
        let ended = CancellationToken::new();
        let serve = |listener| tokio::spawn(edge.clone().serve_admin(listener, ended.clone()));
        Self { serving: listener.map(serve), ended }
    }

    /// Waits for the last responses, for a moment.
    pub(super) async fn end(self) {
        self.ended.cancel();
        if let Some(serving) = self.serving
            && tokio::time::timeout(LAST_RESPONSE, serving).await.is_err()
        {
            tracing::debug!(
                event = "admin_connections_unfinished",
                "a connection to the admin address was still open at the end"
            );
        }
    }
}

/// Serves until `stop`, then waits for running requests and flows. Operators are served until the end.
pub(super) async fn serve(
    app: App,
    edge: Edge,
    (public, operators): (TcpListener, Operators),
    stop: CancellationToken,
) {
    let versions = tokio::spawn(background::follow_versions(app.clone(), stop.child_token()));
    let mut settings = tokio::spawn(background::compare_settings(app.clone(), stop.child_token()));
    let sweeps = app
        .config()
        .background
        .then(|| tokio::spawn(background::run(app.clone(), stop.child_token())));
    let counts = app
        .config()
        .background
        .then(|| tokio::spawn(background::recount(app.clone(), stop.child_token())));
    let workers = app
        .config()
        .background
        .then(|| tokio::spawn(background::work(app.clone(), stop.child_token())));
    edge.serve(public, stop.clone()).await;
    stop.cancel();
    if let Some(workers) = workers
        && tokio::time::timeout(app.bounds().grace_period(), workers).await.is_err()
    {
        tracing::warn!(
            event = "jobs_unfinished",
            "jobs were still running after the grace period; other gateways do them after their leases"
        );
    }
    let grace = app.bounds().grace_period();
    let swept = async {
        if let Some(sweeps) = sweeps
            && tokio::time::timeout(grace, sweeps).await.is_err()
        {
            tracing::warn!(
                event = "sweep_unfinished",
                "a sweep was still running after the grace period; the next gateway continues it"
            );
        }
    };
    let withdrawn = async {
        if tokio::time::timeout(grace, &mut settings).await.is_err() {
            // What the gateway has stated runs out.
            settings.abort();
        }
    };
    tokio::join!(swept, withdrawn);
    // The first only reads, and what the second hasn't counted stays dirty.
    versions.abort();
    if let Some(counts) = counts {
        counts.abort();
    }
    operators.end().await;
}

/// How long the last responses to operators may take.
const LAST_RESPONSE: Duration = Duration::from_millis(500);

/// A token that the first SIGINT (Ctrl-C) or SIGTERM cancels. The second signal ends the process at once.
pub(super) fn stop_on_signals() -> Result<CancellationToken, Failure> {
    let stop = CancellationToken::new();
    let token = stop.clone();
    let mut signals = Signals::new()
        .map_err(|fault| Failure::trouble(format!("signals can't be received: {fault}")))?;
    tokio::spawn(async move {
        signals.next().await;
        token.cancel();
        signals.next().await;
        process::exit(130);
    });
    Ok(stop)
}

struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

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
