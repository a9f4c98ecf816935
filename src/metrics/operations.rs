//! Operation metrics: number, outcome and duration.
//!
//! The labels of an operation are its type and its first root field. Both come from the schema. The client's name
//! of an operation isn't a label.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::{added, histogram::Histogram, histograms};

/// The type of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperationType {
    /// Reads data.
    Query,
    /// Changes data.
    Mutation,
    /// Follows changes.
    Subscription,
}

impl OperationType {
    /// Its name in GraphQL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Mutation => "mutation",
            Self::Subscription => "subscription",
        }
    }
}

/// The labels of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    r#type: &'static str,
    field: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    r#type: &'static str,
    field: String,
    outcome: Cow<'static, str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TypeLabel {
    r#type: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FieldLabel {
    field: String,
}

/// The metrics of all operations. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Families {
    outcomes: Family<OutcomeLabels, Counter>,
    durations: Family<Labels, Histogram>,
    commands: Family<TypeLabel, Histogram>,
    subscriptions: Family<FieldLabel, Gauge>,
    answers: Family<FieldLabel, Counter>,
}

impl Families {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let what = "Operations by type, first root field, and outcome: ok, or the code of the first \
            error, or gone if the client disconnected before the response";
        let outcomes = added(registry, "operations", what);
        let what = "Time from the received request to its response; of a subscription, to its first response or until it waits for its first event";
        let durations =
            histograms(registry, "operation_duration_seconds", what, Histogram::durations);
        let what = "MongoDB commands that an operation requested; several operations may share one";
        let commands = histograms(registry, "operation_commands", what, Histogram::few);
        let subscriptions = added(registry, "subscriptions", "Open subscriptions");
        let answers = added(registry, "subscription_answers", "Responses of subscriptions");
        Self { outcomes, durations, commands, subscriptions, answers }
    }

    pub(super) fn table(
        &self,
        fields: impl IntoIterator<Item = (OperationType, String)>,
    ) -> Operations {
        let operation = |r#type: &'static str, field: String| {
            let (labels, families) = (Labels { r#type, field }, self.clone());
            Arc::new(Operation { labels, families, series: OnceLock::new() })
        };
        let mut known: [HashMap<String, Arc<Operation>>; 3] = Default::default();
        for (of, field) in fields {
            known[of as usize].insert(field.clone(), operation(of.name(), field));
        }
        let types = [OperationType::Query, OperationType::Mutation, OperationType::Subscription];
        let others = types.map(|of| operation(of.name(), "other".to_owned()));
        Operations { known, others, unparsed: operation("none", "other".to_owned()) }
    }
}

/// The metrics of a schema's operations, by type and first root field.
#[derive(Debug)]
pub struct Operations {
    known: [HashMap<String, Arc<Operation>>; 3],
    /// By type: operations that begin with a field that the schema doesn't have.
    others: [Arc<Operation>; 3],
    /// Operations whose document couldn't be parsed.
    unparsed: Arc<Operation>,
}

impl Operations {
    /// The metrics of this type and first root field; without a type, those of documents that can't be
    /// parsed.
    pub fn of(&self, of: Option<OperationType>, field: Option<&str>) -> &Arc<Operation> {
        let Some(of) = of else { return &self.unparsed };
        let known = field.and_then(|field| self.known[of as usize].get(field));
        known.unwrap_or(&self.others[of as usize])
    }
}

/// The metrics of one kind of operation.
#[derive(Debug)]
pub struct Operation {
    labels: Labels,
    families: Families,
    /// Created at the first use, so that unused operations aren't exported.
    series: OnceLock<Series>,
}

#[derive(Debug)]
struct Series {
    ok: Counter,
    duration: Histogram,
    commands: Histogram,
}

impl Operation {
    /// Its type: `query`, `mutation`, `subscription`, or `none` if the document couldn't be parsed.
    pub fn type_name(&self) -> &'static str {
        self.labels.r#type
    }

    /// Its first root field, or `other`.
    pub fn field(&self) -> &str {
        &self.labels.field
    }

    /// Counts a response and, if given, the commands that it took. `code` is the code of its first error.
    pub fn answered(&self, code: Option<&str>, took: Duration, commands: Option<u64>) {
        let series = self.series();
        match code {
            None => series.ok.inc(),
            Some(code) => self.ended(Cow::Owned(code.to_owned())),
        };
        series.duration.time(took);
        if let Some(commands) = commands {
            series.commands.observe(commands);
        }
    }

    /// Counts an operation whose client disconnected before the response.
    pub fn abandoned(&self) {
        self.ended(Cow::Borrowed("gone"));
    }

    /// Begins a subscription.
    pub fn follow(&self) -> OpenSubscription {
        let field = FieldLabel { field: self.labels.field.clone() };
        let open = self.families.subscriptions.get_or_create_owned(&field);
        open.inc();
        OpenSubscription { open, answers: self.families.answers.get_or_create_owned(&field) }
    }

    fn ended(&self, outcome: Cow<'static, str>) -> u64 {
        let Labels { r#type, field } = self.labels.clone();
        let labels = OutcomeLabels { r#type, field, outcome };
        self.families.outcomes.get_or_create(&labels).inc()
    }

    fn series(&self) -> &Series {
        self.series.get_or_init(|| {
            let Labels { r#type, field } = self.labels.clone();
            let labels = OutcomeLabels { r#type, field, outcome: Cow::Borrowed("ok") };
            let of_type = TypeLabel { r#type: self.labels.r#type };
            Series {
                ok: self.families.outcomes.get_or_create_owned(&labels),
                duration: self.families.durations.get_or_create_owned(&self.labels),
                commands: self.families.commands.get_or_create_owned(&of_type),
            }
        })
    }
}

/// An open subscription, until this is dropped.
#[derive(Debug)]
pub struct OpenSubscription {
    open: Gauge,
    answers: Counter,
}

impl OpenSubscription {
    /// Counts a response of the subscription.
    pub fn answered(&self) {
        self.answers.inc();
    }
}

impl Drop for OpenSubscription {
    fn drop(&mut self) {
        self.open.dec();
    }
}
