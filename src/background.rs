//! Runs each room's sweeps, one gateway at a time, and stops them cleanly.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::{app::App, error::Error, mongo::lease::Lease};

/// What one pass of a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Flows that were driven to their end or undone.
    pub finished: u64,
}

/// Every sweep once, in the order in which flows depend on each other.
///
/// # Errors
/// The first that failed; the others were still tried.
pub async fn sweep_all(app: &App) -> Result<Swept, Error> {
    let mut total = Swept::default();
    let mut failed = None;
    for (name, sweep) in crate::domains::sweeps(app) {
        let metrics = app.metrics().sweeps();
        match sweep.await {
            Ok(finished) => {
                metrics.passed(name, finished);
                total.finished += finished;
            }
            Err(error) => {
                metrics.failed(name);
                tracing::warn!(sweep = name, ?error, "a sweep failed; it is tried again");
                failed.get_or_insert(error);
            }
        }
    }
    failed.map_or(Ok(total), Err)
}

/// Sweeps until `stop`, under a lease that saves several gateways from doing the same work.
pub async fn run(app: App, stop: CancellationToken) {
    let pause = Duration::from_millis(app.config().sweep_millis);
    while !stop.is_cancelled() {
        if let Err(error) = pass(&app).await {
            tracing::warn!(?error, "the sweeps are tried again");
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

async fn pass(app: &App) -> Result<(), Error> {
    let run = app.begin().await?;
    let holder = app.name().to_owned();
    let lease = Lease::take(app.collection(), "sweeps", holder, &run, app.bounds()).await?;
    let Some(lease) = lease else { return Ok(()) };
    let swept = sweep_all(app).await;
    // Given back also when a sweep failed: rightness never hangs on this lease.
    lease.release().await.decided()?;
    if let Swept { finished: 1.. } = swept? {
        tracing::info!("sweeps finished what was left");
    }
    Ok(())
}
