//! Runs the sweeps of the rooms and, beside them, their counts, each in one gateway at a time, and the rooms' own jobs, in every
//! gateway. Follows the versions of documents that are in force, and compares the gateway's settings with those of the others.

mod settings;

use std::{pin::pin, time::Duration};

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{
    app::App,
    domains::{
        self, Room, SweepFn,
        queue::{self, operations::Limits},
        switched_on,
    },
    error::Error,
    flow::{Sweep, lease::Lease},
};

use settings::Comparison;
pub use settings::disputed;

/// What a pass runs of each room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runs {
    /// Its sweep.
    Sweep,
    /// Its counts.
    Recount,
    /// Its sweep, then its counts.
    Both,
}

impl Runs {
    /// What it runs of a room, in this order.
    fn of(self, room: &Room) -> Vec<SweepFn> {
        let sweep = room.sweep.filter(|_| self != Self::Recount);
        let recount = room.recount.filter(|_| self != Self::Sweep);
        sweep.into_iter().chain(recount).collect()
    }
}

/// Runs every sweep once, with the counts behind it, in the order in which flows depend on each other. Returns the number of
/// flows that were finished or aborted.
///
/// # Errors
/// The first error; the other sweeps were still tried.
pub async fn sweep_all(app: &App) -> Result<u64, Error> {
    sweep_each(app, switched_on(app.config())).await
}

/// Runs the sweeps of these rooms once, each with the counts behind it, in this order; see [`sweep_all`].
///
/// # Errors
/// The first error; the other sweeps were still tried.
pub async fn sweep_each(
    app: &App,
    rooms: impl Iterator<Item = &'static Room>,
) -> Result<u64, Error> {
    run_rooms(app, Runs::Both, rooms, |_, sweep| sweep).await
}

/// Like [`sweep_each`], of what is to be run, with each pass as `limited` returns it.
async fn run_rooms(
    app: &App,
    runs: Runs,
    rooms: impl Iterator<Item = &'static Room>,
    limited: impl Fn(&'static Room, Sweep) -> Sweep,
) -> Result<u64, Error> {
    let attempt = app.begin().await?;
    let (mut total, mut failed) = (0, None);
    for room in rooms {
        let parts = runs.of(room);
        if parts.is_empty() {
            continue;
        }
        let metrics = &app.metrics().sweeps;
        let pass = limited(room, Sweep::begin(&attempt, app.bounds()));
        match run_from(app, room, &parts, pass).await {
            Ok(finished) => {
                // A room whose counts succeed may still fail to finish its flows.
                if runs != Runs::Recount {
                    metrics.passed(room.name, finished);
                }
                total += finished;
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

/// Runs the sweep of one room with its counts, and returns the number of flows that it finished.
///
/// # Errors
/// The first error; the other flows were still tried.
pub async fn sweep_room(app: &App, room: &Room) -> Result<u64, Error> {
    let attempt = app.begin().await?;
    run_from(app, room, &Runs::Both.of(room), Sweep::begin(&attempt, app.bounds())).await
}

/// Runs the sweep or the counts of one room for flows that are old enough at the beginning of the pass.
async fn run_from(
    app: &App,
    room: &Room,
    parts: &[SweepFn],
    mut sweep: Sweep,
) -> Result<u64, Error> {
    for run in parts {
        run(app, &mut sweep).await;
    }
    app.metrics().sweeps.passed_over(room.name, sweep.unreadable());
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
        stop.run_until_cancelled(sleep(pause)).await;
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
        stop.run_until_cancelled(sleep(Comparison::pause(&app))).await;
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
        stop.run_until_cancelled(sleep(pause)).await;
    }
}

/// Counts again until `stop` what the sweeps have marked as dirty. The count of a large category can take minutes, which no flow
/// may wait for. So it goes on beside the sweeps, and is dropped at `stop`: what wasn't counted stays dirty.
pub async fn recount(app: App, stop: CancellationToken) {
    let pause = Duration::from_millis(app.config().sweep_millis);
    while !stop.is_cancelled() {
        if let Some(Err(error)) = stop.run_until_cancelled(pass_of_counts(&app)).await {
            tracing::warn!(
                event = "recount_pass_failed",
                ?error,
                "a pass of the counts failed; it is retried"
            );
        }
        stop.run_until_cancelled(sleep(pause)).await;
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
    let swept = run_rooms(app, Runs::Sweep, switched_on(app.config()), limited).await;
    // The lease is released even if a sweep failed: correctness never depends on it.
    lease.release().await.decided()?;
    if swept? > 0 {
        tracing::info!(event = "sweep_pass_finished", "sweeps finished interrupted work");
    }
    Ok(())
}

async fn pass_of_counts(app: &App) -> Result<(), Error> {
    let (attempt, bounds) = (app.begin().await?, app.bounds());
    let holder = app.name().to_owned();
    let lease = Lease::acquire(app.collection(), "counts", holder, &attempt, bounds).await?;
    let Some(mut lease) = lease else { return Ok(()) };
    let counted = {
        let rooms = switched_on(app.config());
        let mut counting = pin!(run_rooms(app, Runs::Recount, rooms, |_, sweep| sweep));
        loop {
            tokio::select! {
                counted = &mut counting => break counted,
                () = sleep(bounds.grace_period() / 2) => {}
            }
            // A count may take longer than the lease. If it isn't kept, another gateway may count the same, which does no harm.
            if let Ok(attempt) = app.begin().await {
                let _kept = lease.keep(&attempt, bounds).await;
            }
        }
    };
    lease.release().await.decided()?;
    counted.map(|_finished| ())
}
