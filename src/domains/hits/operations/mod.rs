//! The rules of hits.

mod ahead;
mod counting;
mod live;
mod reports;

use std::ops::RangeInclusive;

pub use counting::{PageHits, count, count_batch, record_hits};
pub(super) use live::hits_changed;
pub(super) use reports::{Bucket, report, top_pages};

/// Maximum number of hits in one call.
pub(super) const HITS: usize = 100;
/// Length of a site in characters.
pub(super) const SITE: RangeInclusive<usize> = 1..=200;
