//! Metrics in the text format of `OpenMetrics`, which Prometheus reads.
//! <https://prometheus.io/docs/specs/om/open_metrics_spec/>
//!
//! - [`operations`]: operations by type and root field
//! - [`request`]: what one request counts while it runs
//! - [`database`]: commands, suggestions, connections, change streams
//! - [`background`]: sweeps, other gateways and tasks
//! - [`histogram`]: a histogram that is observed without a lock
//!
//! The values of labels come from the schema or the code, never from a client. Counting a request takes no lock and
//! allocates no text.

pub mod background;
pub mod database;
pub mod histogram;
pub mod operations;
pub mod request;

use std::fmt;

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, info::Info},
    registry::Registry,
};

use background::{Others, Sweeps, Tasks};
use database::{Batches, Commands, Pool, Streams, Suggestions};
use operations::{OperationType, Operations};
use request::Refusals;

/// The metrics of one gateway process.
pub struct Metrics {
    registry: Registry,
    known: Counter,
    new: Counter,
    rejected: Family<Code, Counter>,
    operations: operations::Families,
    refusals: Refusals,
    commands: Commands,
    reads: Batches,
    lists: Batches,
    counts: Batches,
    writes: Batches,
    suggestions: Suggestions,
    pool: Pool,
    streams: Streams,
    sweeps: Sweeps,
    others: Others,
    tasks: Tasks,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Text {
    text: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Code {
    code: &'static str,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("docgate");
        let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "Version of this gateway", build);
        let texts = Family::<Text, Counter>::default();
        let what = "Requests by whether their document was known, so that it was neither parsed nor validated";
        registry.register("requests", what, texts.clone());
        let counter = |text| texts.get_or_create_owned(&Text { text });
        let rejected = Family::default();
        let what =
            "Requests that were rejected before they became an operation, by the code of the error";
        registry.register("requests_rejected", what, rejected.clone());
        Self {
            known: counter("known"),
            new: counter("new"),
            rejected,
            operations: operations::Families::register(&mut registry),
            refusals: Refusals::register(&mut registry),
            commands: Commands::register(&mut registry),
            reads: Batches::reads(&mut registry),
            lists: Batches::lists(&mut registry),
            counts: Batches::counts(&mut registry),
            writes: Batches::writes(&mut registry),
            suggestions: Suggestions::register(&mut registry),
            pool: Pool::register(&mut registry),
            streams: Streams::register(&mut registry),
            sweeps: Sweeps::register(&mut registry),
            others: Others::register(&mut registry),
            tasks: Tasks::register(&mut registry),
            registry,
        }
    }
}

impl Metrics {
    /// Counts a request.
    pub fn request(&self, is_known: bool) {
        let counter = if is_known { &self.known } else { &self.new };
        counter.inc();
    }

    /// Counts a request that was rejected before it became an operation, because its token is invalid or its
    /// body can't be read.
    pub fn rejected(&self, code: &'static str) {
        self.rejected.get_or_create(&Code { code }).inc();
    }

    /// The operation metrics of a schema with these root fields.
    pub fn operations(
        &self,
        fields: impl IntoIterator<Item = (OperationType, String)>,
    ) -> Operations {
        self.operations.table(fields)
    }

    /// Refused mutations.
    pub fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// Commands of MongoDB.
    pub fn commands(&self) -> &Commands {
        &self.commands
    }

    /// Reads by key that share commands.
    pub fn reads(&self) -> &Batches {
        &self.reads
    }

    /// Lists whose callers share commands.
    pub fn lists(&self) -> &Batches {
        &self.lists
    }

    /// Guarded writes that share commands.
    pub fn writes(&self) -> &Batches {
        &self.writes
    }

    /// Additions to counts that share commands.
    pub fn counts(&self) -> &Batches {
        &self.counts
    }

    /// Suggestions.
    pub fn suggestions(&self) -> &Suggestions {
        &self.suggestions
    }

    /// Connections to MongoDB.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Change streams.
    pub fn streams(&self) -> &Streams {
        &self.streams
    }

    /// Sweeps.
    pub fn sweeps(&self) -> &Sweeps {
        &self.sweeps
    }

    /// Other gateways.
    pub fn others(&self) -> &Others {
        &self.others
    }

    /// Running tasks.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// All metrics as text.
    ///
    /// # Errors
    /// Never: the text is written to memory.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
