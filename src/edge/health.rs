//! Liveness and readiness probes.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use axum::{extract::State, http::StatusCode};
use tokio::{sync::Mutex, time::timeout};
use tokio_util::sync::CancellationToken;

use super::Edge;
use crate::{app::App, mongo::connect};

/// Time limit of a probe, and of the ping to the primary.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How long a result is reused, so that frequent probes cause no load on the primary.
const REUSE: Duration = Duration::from_secs(1);

/// Whether the gateway serves, and the last known state of the primary.
#[derive(Default)]
pub(super) struct Readiness {
    /// Set once clients are served; cancelled when the gateway begins to stop. Probes are answered before and after, if they
    /// have an address of their own.
    until: OnceLock<CancellationToken>,
    /// Time and result of the last ping. The lock is held during a ping, so that concurrent probes share it.
    known: Mutex<Option<(Instant, bool)>>,
}

impl Readiness {
    /// Records that clients are served until `stop`.
    pub(super) fn open(&self, stop: CancellationToken) {
        // A gateway serves once.
        let _earlier = self.until.set(stop);
    }

    async fn check(&self, app: &App) -> bool {
        let mut known = self.known.lock().await;
        if let Some((at, is_ready)) = *known
            && at.elapsed() < REUSE
        {
            return is_ready;
        }
        let answered = timeout(TIMEOUT, connect::ping(app.database())).await;
        let is_ready = matches!(answered, Ok(Ok(())));
        *known = Some((Instant::now(), is_ready));
        is_ready
    }
}

/// Liveness: the process responds.
pub(super) async fn live() -> &'static str {
    "alive\n"
}

/// Readiness: clients are served, and the primary responds.
pub(super) async fn ready(State(edge): State<Edge>) -> (StatusCode, &'static str) {
    match edge.readiness.until.get() {
        None => return (StatusCode::SERVICE_UNAVAILABLE, "the gateway is starting\n"),
        Some(stop) if stop.is_cancelled() => {
            return (StatusCode::SERVICE_UNAVAILABLE, "the gateway is stopping\n");
        }
        Some(_) => {}
    }
    match timeout(TIMEOUT, edge.readiness.check(&edge.app)).await {
        Ok(true) => (StatusCode::OK, "ready\n"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "MongoDB's primary doesn't answer\n"),
    }
}
