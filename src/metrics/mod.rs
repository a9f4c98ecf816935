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

use std::{
    fmt::{self, Debug},
    hash::Hash,
};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, info::Info},
    registry::{Metric, Registry},
};

use background::{Others, Sweeps, Tasks};
use database::{Batches, Commands, Pool, Streams, Suggestions};
use histogram::Histogram;
use operations::{OperationType, Operations};
use request::Refusals;

/// The metrics of one gateway process.
pub struct Metrics {
    registry: Registry,
    known: Counter,
    new: Counter,
    rejected: Family<Code, Counter>,
    operations: operations::Families,
    /// Refused mutations.
    pub refusals: Refusals,
    /// Commands of MongoDB.
    pub commands: Commands,
    /// Reads by key that share commands.
    pub reads: Batches,
    /// Lists whose callers share commands.
    pub lists: Batches,
    /// Additions to counts that share commands.
    pub counts: Batches,
    /// Guarded writes that share commands.
    pub writes: Batches,
    /// Suggestions.
    pub suggestions: Suggestions,
    /// Connections to MongoDB.
    pub pool: Pool,
    /// Change streams.
    pub streams: Streams,
    /// Sweeps.
    pub sweeps: Sweeps,
    /// Other gateways.
    pub others: Others,
    /// Running tasks.
    pub tasks: Tasks,
}

/// Registers a metric. `what` describes it.
fn added<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, what: &str) -> M {
    let metric = M::default();
    registry.register(name, what, metric.clone());
    metric
}

/// The same of histograms, one for each combination of labels.
fn histograms<L>(
    registry: &mut Registry,
    name: &str,
    what: &str,
    each: fn() -> Histogram,
) -> Family<L, Histogram>
where
    L: EncodeLabelSet + Clone + Eq + Hash + Debug + Send + Sync + 'static,
{
    let family = Family::new_with_constructor(each);
    registry.register(name, what, family.clone());
    family
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Text {
    text: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Code {
    code: &'static str,
}

impl Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("docgate");
        let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "Version of this gateway", build);
        let what = "Requests by whether their document was known, so that it was neither parsed nor validated";
        let texts: Family<Text, Counter> = added(&mut registry, "requests", what);
        let counter = |text| texts.get_or_create_owned(&Text { text });
        let what =
            "Requests that were rejected before they became an operation, by the code of the error";
        let rejected = added(&mut registry, "requests_rejected", what);
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
