//! A histogram that is observed without a lock.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use prometheus_client::{
    encoding::{EncodeMetric, MetricEncoder, NoLabelSet},
    metrics::{MetricType, TypedMetric},
};

/// Counts of values by bucket. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Histogram {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Upper bounds of the buckets, ascending. Larger values have one more bucket.
    bounds: &'static [u64],
    /// Observed units per exported unit, such as microseconds per second.
    unit: f64,
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
}

/// Buckets for durations in microseconds, from half a millisecond to ten seconds.
const DURATIONS: &[u64] = &[
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000,
];
/// Microseconds per second.
const SECOND: f64 = 1_000_000.0;
/// Buckets for small numbers.
const FEW: &[u64] = &[0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64];
/// Buckets from one key to the maximum of one command.
const KEYS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

impl Histogram {
    /// A histogram of durations, exported in seconds.
    pub(super) fn durations() -> Self {
        Self::new(DURATIONS, SECOND)
    }

    /// A histogram of small numbers.
    pub(super) fn few() -> Self {
        Self::new(FEW, 1.0)
    }

    /// A histogram of numbers of keys.
    pub(super) fn keys() -> Self {
        Self::new(KEYS, 1.0)
    }

    fn new(bounds: &'static [u64], unit: f64) -> Self {
        let buckets = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        let inner = Inner { bounds, unit, buckets, sum: AtomicU64::new(0) };
        Self { inner: Arc::new(inner) }
    }

    /// Counts one value.
    pub fn observe(&self, value: u64) {
        let Inner { bounds, buckets, sum, .. } = &*self.inner;
        // There is one bucket more than there are bounds.
        let bucket = &buckets[bounds.partition_point(|bound| *bound < value)];
        bucket.fetch_add(1, Ordering::Relaxed);
        sum.fetch_add(value, Ordering::Relaxed);
    }

    /// Counts one number of items.
    pub fn observe_count(&self, items: usize) {
        self.observe(u64::try_from(items).unwrap_or(u64::MAX));
    }

    /// Counts one duration.
    pub fn time(&self, took: Duration) {
        self.observe(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> std::fmt::Result {
        let Inner { bounds, unit, buckets, sum } = &*self.inner;
        let bounds = bounds.iter().map(|bound| float(*bound) / unit).chain([f64::INFINITY]);
        let counts = buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed));
        let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        let sum = float(sum.load(Ordering::Relaxed)) / unit;
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[expect(clippy::cast_precision_loss, reason = "the format has no other numbers than these")]
fn float(value: u64) -> f64 {
    value as f64
}
