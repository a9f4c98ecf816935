//! What the writers, inserters, appenders and counters have in common: whether calls share commands, and how a command
//! is divided.

use std::{hash::Hash, ops::Deref};

use super::{batcher::Source, batchers::Batchers};
use crate::metrics::database::Batches;

/// Batchers of writes of one database.
pub(super) struct WriteBatchers<K, S: Source> {
    /// Whether items share commands. Otherwise each has a command of its own.
    pub(super) coalesce: bool,
    batchers: Batchers<K, S>,
}

impl<K: Eq + Hash, S: Source> WriteBatchers<K, S> {
    pub(super) fn new(metrics: &Batches, coalesce: bool) -> Self {
        Self { coalesce, batchers: Batchers::new(metrics.clone()) }
    }
}

impl<K, S: Source> Deref for WriteBatchers<K, S> {
    type Target = Batchers<K, S>;

    fn deref(&self) -> &Self::Target {
        &self.batchers
    }
}

/// Maximum size of the documents or statements of a shared command, in bytes.
pub(super) const MAX_BYTES: usize = 1 << 20;

/// Divides a batch into parts of at most `most` bytes. A larger item is a part of its own.
pub(super) fn parts<I>(batch: Vec<I>, most: usize, size: impl Fn(&I) -> usize) -> Vec<Vec<I>> {
    let (mut parts, mut bytes) = (Vec::<Vec<_>>::new(), 0);
    for item in batch {
        let own = size(&item);
        match parts.last_mut() {
            Some(part) if bytes + own <= most => {
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
