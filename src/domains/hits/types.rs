//! GraphQL types of hits.

use crate::graphql::declared::{input, result};
use async_graphql::{Enum, SimpleObject};

use crate::graphql::{
    refusals::InvalidInput,
    scalars::{DateTime, Long},
};

input! {
    /// A page view.
    pub struct HitInput {
        /// Site, such as `shop.example`, 1 to 200 characters.
        pub site: String,
        /// Page of the site, such as `/music/jazz`, 1 to 1,000 characters.
        pub page: String,
        /// Time of the page view, between 1970 and now; up to one minute ahead of the server's clock is accepted.
        /// Default: now.
        pub at: Option<DateTime>,
    }
}

input! {
    /// Input of `recordHits`.
    pub struct RecordHitsInput {
        /// Page views to count, 1 to 100.
        pub hits: Vec<HitInput>,
    }
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
        usize => HitsRecorded | InvalidInput;
}

impl From<usize> for HitsRecorded {
    fn from(count: usize) -> Self {
        Self { count: i32::try_from(count).unwrap_or(i32::MAX) }
    }
}

/// Length of the buckets of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(name = "ReportResolution")]
pub enum Resolution {
    /// One minute.
    Minute,
    /// One hour.
    Hour,
    /// One day in UTC.
    Day,
    /// One week, beginning on Monday.
    Week,
    /// One calendar month.
    Month,
}

/// Number of page views in a range of days.
#[derive(Debug, SimpleObject)]
pub struct HitReport {
    /// Total number of hits.
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
    /// Number of hits in the bucket.
    pub hits: Long,
}
