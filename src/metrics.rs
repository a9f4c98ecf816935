//! What operators can watch, in the text format of `OpenMetrics`, which Prometheus reads.
//! <https://prometheus.io/docs/specs/om/open_metrics_spec/>

use std::fmt;

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};

/// The metrics of one gateway process.
pub struct Metrics {
    registry: Registry,
    texts: Family<Text, Counter>,
    batches: Batches,
}

/// Keys per read by key, by collection. Cheap to clone.
#[derive(Clone)]
pub struct Batches(Family<Collection, Histogram, fn() -> Histogram>);

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Text {
    text: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Collection {
    collection: &'static str,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("docgate");
        let texts = Family::default();
        let what =
            "Requests by whether their text was known, so that it was neither read nor validated";
        registry.register("requests", what, texts.clone());
        let keys = Family::new_with_constructor(sizes as fn() -> Histogram);
        let what = "Keys that were asked for in one command, of reads by key";
        registry.register("read_keys", what, keys.clone());
        Self { registry, texts, batches: Batches(keys) }
    }
}

/// From one key to the most of one command.
fn sizes() -> Histogram {
    Histogram::new(exponential_buckets(1.0, 2.0, 10))
}

impl Metrics {
    /// Counts a request.
    pub fn request(&self, is_known: bool) {
        let text = if is_known { "known" } else { "new" };
        self.texts.get_or_create(&Text { text }).inc();
    }

    /// The sizes of batches.
    pub fn batches(&self) -> &Batches {
        &self.batches
    }

    /// All of them as text.
    ///
    /// # Errors
    /// Never, as text is written to memory.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

impl Batches {
    /// The one of a collection.
    pub fn of(&self, collection: &'static str) -> Histogram {
        self.0.get_or_create(&Collection { collection }).clone()
    }
}
