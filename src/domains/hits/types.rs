//! GraphQL types of hits.

use std::ops::RangeInclusive;

use async_graphql::{Enum, SimpleObject};
use mongodb::bson;

use super::operations::{ByStart, HITS, PAGE, SITE};
use crate::graphql::{
    declared::{input, result},
    input,
    refusals::InvalidInput,
    scalars::{DateTime, Long},
};

input! {
    /// A page view.
    pub struct HitInput {
        /// Site, such as `shop.example`, 1 to 200 characters.
        pub site: String where line(SITE),
        /// Page of the site, such as `/music/jazz`, 1 to 1,000 characters.
        pub page: String where line(PAGE),
        /// Time of the page view, between 1970 and now; up to one minute ahead of the server's clock is accepted.
        /// Default: now.
        pub at: Option<DateTime>,
    }

    /// Input of `recordHits`: the page views to count.
    pub struct RecordHitsInput {
        /// Page views to count, 1 to 100.
        pub hits: Vec<HitInput> where number,
    }
}

/// A text on one line.
fn line(length: RangeInclusive<usize>) -> impl Fn(&str, &mut String) -> Result<(), InvalidInput> {
    move |field, value| input::line(field, value, length.clone()).map(|_| ())
}

/// Checks the number of hits. Each of them is checked with its time, for which the clock is needed.
fn number(field: &str, hits: &mut [HitInput]) -> Result<(), InvalidInput> {
    if hits.is_empty() {
        return Err(InvalidInput::new(field, "takes at least one element"));
    }
    input::at_most(field, hits, HITS)
}

/// Result of a successful `recordHits`.
#[derive(Debug, SimpleObject)]
pub struct HitsRecorded {
    /// Number of page views that were counted.
    pub count: i32,
}

result! {
    /// Result of `recordHits`: the number of counted page views, or a refusal. A refusal counted none of them.
    pub enum RecordHitsResult:
        HitsRecorded | InvalidInput;
}

/// Length of the buckets of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(name = "ReportResolution")]
pub enum Resolution {
    /// One minute, beginning at a full minute in UTC.
    Minute,
    /// One hour, beginning at a full hour in UTC.
    Hour,
    /// One day in UTC, from midnight to midnight.
    Day,
    /// One week in UTC, beginning on Monday.
    Week,
    /// One calendar month in UTC.
    Month,
}

/// Number of page views in a range of days.
#[derive(Debug, SimpleObject)]
pub struct HitReport {
    /// Page views from the first to the last day; the sum of all buckets.
    pub total: Long,
    /// Buckets in chronological order, without gaps: a bucket without hits is listed with 0.
    pub buckets: Vec<HitBucket>,
}

/// Number of page views in one bucket.
#[derive(Debug, SimpleObject)]
pub struct HitBucket {
    /// Start of the bucket. The first week or month may begin before `from`; only hits between `from` and
    /// `to` are counted.
    pub starts_at: DateTime,
    /// Page views from `startsAt` to the start of the next bucket.
    pub hits: Long,
}

impl From<ByStart> for HitReport {
    fn from(counted: ByStart) -> Self {
        let total = Long(counted.values().sum());
        let bucket = |(start, hits)| {
            let starts_at = DateTime(bson::DateTime::from_millis(start));
            HitBucket { starts_at, hits: Long(hits) }
        };
        Self { total, buckets: counted.into_iter().map(bucket).collect() }
    }
}
