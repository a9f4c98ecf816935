//! Background metrics: sweeps, other gateways and tasks.

use std::{
    sync::atomic::AtomicU64,
    time::{SystemTime, UNIX_EPOCH},
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::added;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Sweep {
    sweep: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Pass {
    sweep: &'static str,
    outcome: &'static str,
}

/// The sweep metrics of one gateway.
#[derive(Debug, Default)]
pub struct Sweeps {
    passes: Family<Pass, Counter>,
    finished: Family<Sweep, Counter>,
    unreadable: Family<Sweep, Counter>,
    succeeded: Family<Sweep, Gauge<f64, AtomicU64>>,
}

impl Sweeps {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let what = "Passes of a sweep by outcome: ok or failed";
        let passes = added(registry, "sweep_passes", what);
        let what = "Flows and other items that a sweep finished";
        let finished = added(registry, "sweep_finished", what);
        let what =
            "Documents that a sweep passed over, because they can't be read; counted in each pass";
        let unreadable = added(registry, "sweep_unreadable", what);
        let what =
            "Time of the last successful pass of a sweep; one gateway sweeps for all gateways";
        let succeeded = added(registry, "sweep_last_success_timestamp_seconds", what);
        Self { passes, finished, unreadable, succeeded }
    }

    /// Counts a pass that succeeded, and the items that it finished.
    pub fn passed(&self, sweep: &'static str, finished: u64) {
        self.passes.get_or_create(&Pass { sweep, outcome: "ok" }).inc();
        self.finished.get_or_create(&Sweep { sweep }).inc_by(finished);
        #[expect(clippy::disallowed_methods, reason = "Prometheus compares it with its own clock")]
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.succeeded.get_or_create(&Sweep { sweep }).set(now.as_secs_f64());
    }

    /// Counts the documents that a pass couldn't read.
    pub fn passed_over(&self, sweep: &'static str, documents: u64) {
        self.unreadable.get_or_create(&Sweep { sweep }).inc_by(documents);
    }

    /// Counts a pass that failed.
    pub fn failed(&self, sweep: &'static str) {
        self.passes.get_or_create(&Pass { sweep, outcome: "failed" }).inc();
    }
}

/// What this gateway knows of the others on its database.
#[derive(Debug, Default)]
pub struct Others {
    differing: Gauge,
}

impl Others {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let what =
            "Other gateways on the database whose settings differ where all must have the same";
        Self { differing: added(registry, "settings_differ", what) }
    }

    /// Notes the number of gateways whose settings differ.
    pub fn differ(&self, gateways: usize) {
        self.differing.set(i64::try_from(gateways).unwrap_or(i64::MAX));
    }
}

/// The number of running tasks, set when metrics are requested.
#[derive(Debug, Default)]
pub struct Tasks {
    /// Mutations and background work; a shutdown waits for them.
    pub awaited: Gauge,
    /// All tasks of the process: connections, requests, commands.
    pub all: Gauge,
}

impl Tasks {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let what = "Running mutations and background work, for which a shutdown waits";
        let awaited = added(registry, "tasks_awaited", what);
        let what = "Tasks of the process: connections, requests, commands";
        Self { awaited, all: added(registry, "tasks", what) }
    }
}
