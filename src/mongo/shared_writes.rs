//! What the writers, inserters, appenders and counters have in common: their batchers by collection, and how a command is
//! divided and its error told.

use std::{hash::Hash, sync::Arc};

use super::batcher::{Batcher, Batchers, Item, Source};
use crate::{
    error::Error,
    metrics::{Metrics, database::Batches, histogram::Histogram},
};

/// Batchers of writes of one database.
pub(super) struct WriteBatchers<K, S: Source> {
    batches: Batches,
    /// Whether items share commands.
    pub(super) coalesce: bool,
    by_key: Batchers<K, S>,
}

impl<K: Eq + Hash, S: Source> WriteBatchers<K, S> {
    /// Creates the batchers, with the metrics of writes in `metrics`. Unless `coalesce` is set, each item has a command of
    /// its own.
    pub(super) fn new(metrics: &Metrics, coalesce: bool) -> Self {
        Self::with_metrics(metrics.writes().clone(), coalesce)
    }

    /// Like [`Self::new`], with other metrics.
    pub(super) fn with_metrics(batches: Batches, coalesce: bool) -> Self {
        Self { batches, coalesce, by_key: Batchers::default() }
    }

    /// The batcher of `key`, for items of this collection. `source` gets the metric of the sizes of commands.
    pub(super) fn get(
        &self,
        key: K,
        collection: &'static str,
        source: impl FnOnce(Histogram) -> S,
    ) -> Arc<Batcher<S>> {
        self.by_key.get(key, || {
            let source = source(self.batches.batch_size(collection));
            Batcher::new(source, self.batches.waiting(collection))
        })
    }

    /// Calls [`Batcher::send_overdue`] of each.
    pub(super) fn send_overdue(&self) {
        self.by_key.send_overdue();
    }
}

/// Maximum size of the documents or statements of a command, in bytes.
pub(super) const MAX_BYTES: usize = 1 << 20;

/// Divides a batch into parts of at most [`MAX_BYTES`]. A larger item is a part of its own.
pub(super) fn parts<S: Source>(
    batch: Vec<Item<S>>,
    size: impl Fn(&S::Value) -> usize,
) -> Vec<Vec<Item<S>>> {
    let (mut parts, mut bytes) = (Vec::<Vec<_>>::new(), 0);
    for item in batch {
        let own = size(&item.value);
        match parts.last_mut() {
            Some(part) if bytes + own <= MAX_BYTES => {
                part.push(item);
                bytes += own;
            }
            _ => {
                parts.push(vec![item]);
                bytes = own;
            }
        }
    }
    parts
}

/// The error of a shared command, for one of its callers.
pub(super) fn same_error(error: &Error) -> Error {
    match error {
        Error::Internal(source) => Error::internal(source.to_string()),
        error => Error::unavailable(error.to_string()),
    }
}
