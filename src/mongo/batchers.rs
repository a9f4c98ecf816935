//! The batchers of one kind of item, by collection or lookup. Each is created when it is first needed.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use tokio::time::interval;

use super::batcher::{Batcher, Source};
use crate::{
    locks::lock,
    metrics::{database::Batches, histogram::Histogram},
};

/// Interval of the check for items that have waited too long. If no command was sent between two checks, the
/// queue is overdue, because the command in flight may never end. An item waits for at most two intervals.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// The batchers of one kind of item, and their metrics.
pub(super) struct Batchers<K, S: Source> {
    metrics: Batches,
    by_key: Mutex<HashMap<K, Arc<Batcher<S>>>>,
}

impl<K: Eq + Hash, S: Source> Batchers<K, S> {
    /// None yet.
    pub(super) fn new(metrics: Batches) -> Self {
        Self { metrics, by_key: Mutex::default() }
    }

    /// The batcher of `key`, for items of this collection. `source` gets the metric of the sizes of commands.
    pub(super) fn get(
        &self,
        key: K,
        collection: &'static str,
        source: impl FnOnce(Histogram) -> S,
    ) -> Arc<Batcher<S>> {
        let create = || {
            let source = source(self.metrics.batch_size(collection));
            Batcher::new(source, self.metrics.waiting(collection))
        };
        Arc::clone(lock(&self.by_key).entry(key).or_insert_with(create))
    }

    /// Calls [`Batcher::send_overdue`] of each.
    pub(super) fn send_overdue(&self) {
        lock(&self.by_key).values().for_each(Batcher::send_overdue);
    }
}

/// Calls `send_overdue` at intervals until `owner` is dropped.
pub(super) async fn check_overdue<T>(owner: Weak<T>, send_overdue: fn(&T)) {
    let mut checks = interval(CHECK_INTERVAL);
    loop {
        checks.tick().await;
        let Some(owner) = owner.upgrade() else { return };
        send_overdue(&owner);
    }
}
