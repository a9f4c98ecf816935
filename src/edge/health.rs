//! Whether the process lives, and whether it can serve.

use std::time::{Duration, Instant};

use axum::{extract::State, http::StatusCode};
use tokio::{sync::Mutex, time::timeout};

use super::Edge;
use crate::{app::App, mongo::connect};

/// How long anybody waits for an answer; also how long the primary has for one.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long an answer holds. Whoever asks meanwhile costs the primary nothing.
const FRESH: Duration = Duration::from_secs(1);

/// Whether the primary answers, as far as it is known.
#[derive(Default)]
pub(super) struct Readiness {
    /// When it was asked and whether it answered. Who asks it holds this; the others wait.
    known: Mutex<Option<(Instant, bool)>>,
}

impl Readiness {
    async fn look(&self, app: &App) -> bool {
        let mut known = self.known.lock().await;
        if let Some((at, is_ready)) = *known
            && at.elapsed() < FRESH
        {
            return is_ready;
        }
        let answered = timeout(PATIENCE, connect::ping(app.database())).await;
        let is_ready = matches!(answered, Ok(Ok(())));
        *known = Some((Instant::now(), is_ready));
        is_ready
    }
}

/// The process answers.
pub(super) async fn live() -> &'static str {
    "alive\n"
}

/// The primary answers.
pub(super) async fn ready(State(edge): State<Edge>) -> (StatusCode, &'static str) {
    match timeout(PATIENCE, edge.readiness.look(&edge.app)).await {
        Ok(true) => (StatusCode::OK, "ready\n"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "MongoDB's primary doesn't answer\n"),
    }
}
