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
    known: Counter,
    new: Counter,
    keys: KeysPerRead,
}

/// Keys per read by key, by collection. Cheap to clone.
#[derive(Clone)]
pub struct KeysPerRead(Family<Collection, Histogram, fn() -> Histogram>);

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
        let texts = Family::<Text, Counter>::default();
        let what =
            "Requests by whether their text was known, so that it was neither read nor validated";
        registry.register("requests", what, texts.clone());
        let keys = Family::new_with_constructor(sizes as fn() -> Histogram);
        let what = "Keys that were asked for in one command, of reads by key";
        registry.register("read_keys", what, keys.clone());
        let counter = |text| texts.get_or_create_owned(&Text { text });
        Self { registry, known: counter("known"), new: counter("new"), keys: KeysPerRead(keys) }
    }
}

/// From one key to the most of one command.
fn sizes() -> Histogram {
    Histogram::new(exponential_buckets(1.0, 2.0, 10))
}

impl Metrics {
    /// Counts a request.
    pub fn request(&self, is_known: bool) {
        let counter = if is_known { &self.known } else { &self.new };
        counter.inc();
    }

    /// How many keys share a read.
    pub fn keys_per_read(&self) -> &KeysPerRead {
        &self.keys
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

impl KeysPerRead {
    /// The one of a collection.
    pub fn of(&self, collection: &'static str) -> Histogram {
        self.0.get_or_create(&Collection { collection }).clone()
    }
}
