//! GraphQL types of hits.

use async_graphql::{Enum, InputObject, OneofObject, SimpleObject};
use mongodb::bson;

use super::{
    documents::PageTotal,
    operations::{Bucket, HITS, SITE},
};
use crate::graphql::{prelude::*, scalars::DateTime};

input! {
    /// A page view.
    pub struct HitInput {
        /// Site, such as `shop.example`, on one line, 1 to 200 characters.
        pub site: String where line(SITE),
        /// Page of the site, such as `/music/jazz`, on one line, up to 8,192 bytes.
        pub page: String where page(),
        /// Time of the page view, between 1970 and now; up to one minute ahead of the server's clock is accepted.
        /// Default: now. Required with an idempotency key.
        pub at: Option<DateTime>,
    }

    /// Input of `recordHits`: the page views to count.
    pub struct RecordHitsInput {
        /// Page views to count, 1 to 100.
        pub hits: Vec<HitInput> where at_least_one(HITS),
        /// Idempotency key, 1 to 128 characters. The same list of hits with the same key counts once. Another list with
        /// this key is counted as a whole, also those of its hits that were in the first one. Keys are remembered for
        /// an hour, unless the operator sets another time, and of each page and day only the last 500.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
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
        HitsRecorded | InvalidInput;
}

/// Length of the buckets of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(name = "ReportResolution")]
pub enum Resolution {
    /// One minute.
    Minute,
    /// One hour, beginning at a full hour of the time zone.
    Hour,
    /// One day of the time zone, from midnight to midnight. It has 23 or 25 hours if the clocks are changed.
    Day,
    /// One week of the time zone as in ISO 8601, beginning on Monday.
    Week,
    /// One calendar month of the time zone.
    Month,
}

/// Range of a report. Exactly one field must be set.
#[derive(Debug, OneofObject)]
pub enum ReportRange {
    /// Whole days of the time zone.
    Days(DayRange),
    /// From one point in time to another.
    Moments(MomentRange),
    /// The last buckets, 1 to 1,500. The current one is the last of them.
    Last(i32),
}

/// Range of days, both included.
#[derive(Debug, InputObject)]
pub struct DayRange {
    /// First day, between the years 1970 and 2999.
    pub from: Date,
    /// Last day. It can't be before `from`.
    pub to: Date,
}

/// Range between two points in time.
#[derive(Debug, InputObject)]
pub struct MomentRange {
    /// Start, between the years 1970 and 2999. The minute that contains it is included.
    pub from: DateTime,
    /// End, after `from`. A minute that begins before it is included.
    pub to: DateTime,
}

/// Number of page views in a range.
#[derive(Debug, SimpleObject)]
pub struct HitReport {
    /// Page views of the range; the sum of all buckets.
    pub total: Long,
    /// Buckets in chronological order, without gaps: a bucket without hits is listed with 0.
    pub buckets: Vec<HitBucket>,
}

/// Number of page views in one bucket.
#[derive(Debug, SimpleObject)]
pub struct HitBucket {
    /// Start of the bucket. The first one may begin before the range; only hits of the range are counted.
    pub starts_at: DateTime,
    /// The bucket in the calendar of the time zone: `2026-11`, `2026-W48`, `2026-11-23`, or for hours and minutes
    /// `2026-11-23T14:05+01:00`.
    pub label: String,
    /// Page views from `startsAt` to the start of the next bucket.
    pub hits: Long,
}

impl From<Vec<Bucket>> for HitReport {
    fn from(counted: Vec<Bucket>) -> Self {
        let total = Long(counted.iter().map(|bucket| bucket.hits).sum());
        let bucket = |Bucket { start, label, hits }| {
            let starts_at = DateTime(bson::DateTime::from_millis(start));
            HitBucket { starts_at, label, hits: Long(hits) }
        };
        Self { total, buckets: counted.into_iter().map(bucket).collect() }
    }
}

/// Period of a list of the most viewed pages, in UTC. Exactly one field must be set.
#[derive(Debug, OneofObject)]
pub enum TopPagesPeriod {
    /// One day.
    Day(Date),
    /// One month, such as `2026-11`.
    Month(String),
}

/// A page with its page views.
#[derive(Debug, SimpleObject)]
pub struct TopPage {
    /// Page of the site.
    pub page: String,
    /// Its page views in the period.
    pub hits: Long,
}

impl From<PageTotal> for TopPage {
    fn from(PageTotal { id, total, .. }: PageTotal) -> Self {
        Self { page: id.page, hits: Long(total) }
    }
}

/// Page views of one page up to now.
#[derive(Debug, SimpleObject)]
pub struct HitsChanged {
    /// Site that was viewed.
    pub site: String,
    /// Page of the site.
    pub page: String,
    /// Page views since midnight in UTC.
    pub today: Long,
    /// Page views of the last 60 minutes by minute. The current minute is the last one.
    pub last_hour: HitReport,
}
