//! Runs the sweeps of the rooms, in one gateway at a time, and the rooms' own jobs, in every gateway. Follows the versions
//! of documents that are in force, and compares the gateway's settings with those of the others.

mod settings;

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::{
    app::App,
    domains::{
        self, Room,
        queue::{self, operations::Limits},
        switched_on,
    },
    error::Error,
    flow::{Sweep, lease::Lease},
};

use settings::Comparison;
pub use settings::disputed;

/// The result of one pass of the sweeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Flows that were finished or aborted.
    pub finished: u64,
}

/// Runs every sweep once, in the order in which flows depend on each other.
///
/// # Errors
/// The first error; the other sweeps were still tried.
pub async fn sweep_all(app: &App) -> Result<Swept, Error> {
    sweep_each(app, switched_on(app.config())).await
}

/// Runs the sweeps of these rooms once, in this order.
///
/// # Errors
/// The first error; the other sweeps were still tried.
pub async fn sweep_each(
    app: &App,
    rooms: impl Iterator<Item = &'static Room>,
) -> Result<Swept, Error> {
    sweep_rooms(app, rooms, |_, sweep| sweep).await
}

/// Like [`sweep_each`], with each pass as `limited` returns it.
async fn sweep_rooms(
    app: &App,
    rooms: impl Iterator<Item = &'static Room>,
    limited: impl Fn(&'static Room, Sweep) -> Sweep,
) -> Result<Swept, Error> {
    let mut total = Swept::default();
    let attempt = app.begin().await?;
    let mut failed = None;
    for room in rooms {
        if room.sweep.is_none() {
            continue;
        }
        let metrics = app.metrics().sweeps();
        let pass = limited(room, Sweep::begin(&attempt, app.bounds()));
        match sweep_from(app, room, pass).await {
            Ok(finished) => {
                metrics.passed(room.name, finished);
                total.finished += finished;
            }
            Err(error) => {
                metrics.failed(room.name);
                tracing::warn!(
                    event = "sweep_failed",
                    sweep = room.name,
                    ?error,
                    "sweep failed; the next pass retries it"
                );
                failed.get_or_insert(error);
            }
        }
    }
    failed.map_or(Ok(total), Err)
}

/// Runs the sweep of one room, and returns the number of flows that it finished.
///
/// # Errors
/// The first error; the other flows were still tried.
pub async fn sweep_room(app: &App, room: &Room) -> Result<u64, Error> {
    let attempt = app.begin().await?;
    sweep_from(app, room, Sweep::begin(&attempt, app.bounds())).await
}

/// Runs the sweep of one room for flows that are old enough at the beginning of the pass.
async fn sweep_from(app: &App, room: &Room, mut sweep: Sweep) -> Result<u64, Error> {
    if let Some(run) = room.sweep {
        run(app, &mut sweep).await;
    }
    app.metrics().sweeps().passed_over(room.name, sweep.unreadable());
    sweep.finished()
}

/// Reads every few seconds until `stop` which versions of documents are in force, in every gateway.
pub async fn follow_versions(app: App, stop: CancellationToken) {
    let pause = Duration::from_millis(app.config().sweep_millis);
    while !stop.is_cancelled() {
        if let Err(error) = app.refresh_versions().await {
            tracing::warn!(
                event = "versions_unread",
                ?error,
                "the versions in force couldn't be read; they are read again"
            );
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Compares the settings that must be the same in all gateways, at intervals until `stop`. Every gateway does it.
pub async fn compare_settings(app: App, stop: CancellationToken) {
    let mut comparison = Comparison::new(&app);
    while !stop.is_cancelled() {
        if let Err(error) = comparison.compare(&app).await {
            tracing::warn!(
                event = "settings_uncompared",
                ?error,
                "the settings couldn't be compared with those of other gateways; they are compared again"
            );
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(Comparison::pause(&app)) => {}
        }
    }
    Comparison::withdraw(&app).await;
}

/// Runs the sweeps until `stop`. A lease keeps several gateways from doing the same work.
pub async fn run(app: App, stop: CancellationToken) {
    let pause = Duration::from_millis(app.config().sweep_millis);
    while !stop.is_cancelled() {
        if let Err(error) = pass(&app).await {
            tracing::warn!(event = "sweep_pass_failed", ?error, "sweep pass failed; it is retried");
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Maximum number of the rooms' own jobs that a gateway does at once, and the length of their leases.
const WORKERS: Limits = Limits { jobs: 8, lease: Duration::from_secs(60) };

/// Does the jobs of the rooms until `stop`, then waits for those under way.
pub async fn work(app: App, stop: CancellationToken) {
    queue::operations::run(&app, domains::work(app.config()), WORKERS, stop).await;
}

async fn pass(app: &App) -> Result<(), Error> {
    let attempt = app.begin().await?;
    let holder = app.name().to_owned();
    let lease = Lease::acquire(app.collection(), "sweeps", holder, &attempt, app.bounds()).await?;
    let Some(lease) = lease else { return Ok(()) };
    // A pass without an end would let the lease run out, and keep a shutdown waiting.
    let limited = |room: &'static Room, sweep: Sweep| sweep.limited(room.name, app.shared());
    let swept = sweep_rooms(app, switched_on(app.config()), limited).await;
    // The lease is released even if a sweep failed: correctness never depends on it.
    lease.release().await.decided()?;
    if let Swept { finished: 1.. } = swept? {
        tracing::info!(event = "sweep_pass_finished", "sweeps finished interrupted work");
    }
    Ok(())
}
