//! MongoDB metrics: commands, batched reads and counters, suggestions, connections, and change streams.

use std::time::Duration;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::{added, histogram::Histogram, histograms};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Collection {
    collection: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CommandLabels {
    collection: &'static str,
    command: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    collection: &'static str,
    command: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    collection: &'static str,
    answer: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

/// The command metrics of one gateway. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Commands {
    outcomes: Family<OutcomeLabels, Counter>,
    durations: Family<CommandLabels, Histogram>,
}

impl Commands {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let what = "Commands by collection, name and outcome: ok, unavailable (no reply, or an uncertain \
            one), failed";
        let outcomes = added(registry, "mongodb_commands", what);
        let what = "Time from sending a command to the whole reply, except where the server waits for new documents";
        let durations =
            histograms(registry, "mongodb_command_duration_seconds", what, Histogram::durations);
        Self { outcomes, durations }
    }

    /// The metrics of one command of one collection.
    pub fn of(&self, collection: &'static str, command: &'static str) -> Command {
        let ok = OutcomeLabels { collection, command, outcome: "ok" };
        let labels = CommandLabels { collection, command };
        Command {
            ok: self.outcomes.get_or_create_owned(&ok),
            duration: self.durations.get_or_create_owned(&labels),
            labels,
            outcomes: self.outcomes.clone(),
        }
    }
}

/// The metrics of one command of one collection.
#[derive(Debug, Clone)]
pub struct Command {
    labels: CommandLabels,
    ok: Counter,
    duration: Histogram,
    outcomes: Family<OutcomeLabels, Counter>,
}

impl Command {
    /// Counts a reply, and records its duration. `failure` is its outcome label if it failed.
    pub fn answered(&self, took: Duration, failure: Option<&'static str>) {
        self.awaited(failure);
        self.duration.time(took);
    }

    /// Counts a reply for which the server waited until there was something to say. Its duration says nothing.
    pub fn awaited(&self, failure: Option<&'static str>) {
        match failure {
            None => self.ok.inc(),
            Some(outcome) => {
                let CommandLabels { collection, command } = self.labels;
                let labels = OutcomeLabels { collection, command, outcome };
                self.outcomes.get_or_create(&labels).inc()
            }
        };
    }
}

/// The metrics of batched items. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Batches {
    batch_sizes: Family<Collection, Histogram>,
    waiting: Family<Collection, Gauge>,
}

impl Batches {
    pub(super) fn reads(registry: &mut Registry) -> Self {
        let what = "Keys of one command, of reads by key";
        let batch_sizes = histograms(registry, "read_keys", what, Histogram::keys);
        Self { batch_sizes, waiting: added(registry, "reads_waiting", "Queued reads by key") }
    }

    pub(super) fn counts(registry: &mut Registry) -> Self {
        let what = "Documents whose counters were incremented by one command";
        let batch_sizes = histograms(registry, "count_documents", what, Histogram::keys);
        let what = "Queued additions to counters";
        Self { batch_sizes, waiting: added(registry, "counts_waiting", what) }
    }

    pub(super) fn writes(registry: &mut Registry) -> Self {
        let what = "Guarded writes or inserts in one shared command";
        let batch_sizes = histograms(registry, "write_statements", what, Histogram::keys);
        Self { batch_sizes, waiting: added(registry, "writes_waiting", "Queued guarded writes") }
    }

    pub(super) fn lists(registry: &mut Registry) -> Self {
        let what = "Callers of the same list that shared one command";
        let batch_sizes = histograms(registry, "list_callers", what, Histogram::keys);
        Self { batch_sizes, waiting: Family::default() }
    }

    /// Number of items per command of a collection.
    pub fn batch_size(&self, collection: &'static str) -> Histogram {
        self.batch_sizes.get_or_create_owned(&Collection { collection })
    }

    /// Number of queued items of a collection, summed over all lookups.
    pub fn waiting(&self, collection: &'static str) -> Gauge {
        self.waiting.get_or_create_owned(&Collection { collection })
    }
}

/// The metrics of suggestions. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Suggestions(Family<Answered, Counter>);

impl Suggestions {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let what = "Suggestions by how they were answered: read from MongoDB, shared with another caller's read, or kept \
            from an earlier one";
        Self(added(registry, "suggestions", what))
    }

    /// Counts an answer that is read from MongoDB.
    pub fn read(&self, collection: &'static str) {
        self.count(collection, "read");
    }

    /// Counts an answer for which another caller's read is under way.
    pub fn shared(&self, collection: &'static str) {
        self.count(collection, "shared");
    }

    /// Counts an answer from memory.
    pub fn kept(&self, collection: &'static str) {
        self.count(collection, "kept");
    }

    fn count(&self, collection: &'static str, answer: &'static str) {
        self.0.get_or_create(&Answered { collection, answer }).inc();
    }
}

/// The connection metrics of one client. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Pool {
    /// Open connections.
    pub open: Gauge,
    /// Open connections that carry a command.
    pub in_use: Gauge,
    /// Connections opened.
    pub created: Counter,
    /// Time that commands waited for a connection.
    pub wait: Histogram,
    /// Commands that got no connection.
    pub failures: Counter,
    /// Number of times that all connections of a server were closed.
    pub cleared: Counter,
    closed: Family<Reason, Counter>,
}

impl Pool {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let what = "Open connections to MongoDB, without those that monitor the servers";
        let open = added(registry, "mongodb_connections", what);
        let what = "Connections to MongoDB that carry a command";
        let in_use = added(registry, "mongodb_connections_in_use", what);
        let what = "Connections to MongoDB that were opened";
        let created = added(registry, "mongodb_connections_created", what);
        let what = "Connections to MongoDB that were closed, by reason";
        let closed = added(registry, "mongodb_connections_closed", what);
        let (what, wait) =
            ("Time that a command waited for its connection", Histogram::durations());
        registry.register("mongodb_checkout_duration_seconds", what, wait.clone());
        let what = "Commands that got no connection";
        let failures = added(registry, "mongodb_checkout_failures", what);
        let what = "Times that all connections of a server were closed, after an error of one";
        let cleared = added(registry, "mongodb_pool_cleared", what);
        Self { open, in_use, created, wait, failures, cleared, closed }
    }

    /// Connections closed for `reason`.
    pub fn closed(&self, reason: &'static str) -> Counter {
        self.closed.get_or_create_owned(&Reason { reason })
    }
}

/// The metrics of change streams. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Streams {
    subscribers: Family<Collection, Gauge>,
    restarts: Family<Collection, Counter>,
}

impl Streams {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let what = "Subscribers to the changes of a collection";
        let subscribers = added(registry, "change_stream_subscribers", what);
        let what = "Change streams that broke or couldn't be opened, and were restarted";
        Self { subscribers, restarts: added(registry, "change_stream_restarts", what) }
    }

    /// Sets the current number of subscribers, by collection.
    pub fn set_subscribers(&self, now: impl IntoIterator<Item = (&'static str, usize)>) {
        // A collection without subscribers isn't reported.
        self.subscribers.clear();
        for (collection, count) in now {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.subscribers.get_or_create(&Collection { collection }).set(count);
        }
    }

    /// Counts a restart of a stream.
    pub fn restarted(&self, collection: &'static str) {
        self.restarts.get_or_create(&Collection { collection }).inc();
    }
}
