//! What clients see of hits.

use async_graphql::{Enum, InputObject, SimpleObject, Union};

use crate::graphql::{
    refusals::InvalidInput,
    scalars::{DateTime, Long},
};

/// Somebody looked at a page.
#[derive(Debug, InputObject)]
pub struct HitInput {
    /// The site, such as `shop.example`, 1 to 200 characters.
    pub site: String,
    /// The page of it, such as `/music/jazz`, 1 to 1,000 characters.
    pub page: String,
    /// When it was, between 1970 and now; now when left out.
    pub at: Option<DateTime>,
}

/// Hits that are to be counted.
#[derive(Debug, InputObject)]
pub struct RecordHitsInput {
    /// The hits, 1 to 100.
    pub hits: Vec<HitInput>,
}

/// Hits that were counted.
#[derive(Debug, SimpleObject)]
pub struct HitsRecorded {
    /// How many.
    pub count: i32,
}

/// What became of hits.
#[derive(Union)]
pub enum RecordHitsResult {
    HitsRecorded(HitsRecorded),
    InvalidInput(InvalidInput),
}

impl From<usize> for RecordHitsResult {
    fn from(count: usize) -> Self {
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        Self::HitsRecorded(HitsRecorded { count })
    }
}

/// How long the buckets of a report are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(name = "ReportResolution")]
pub enum Resolution {
    /// A minute.
    Minute,
    /// An hour.
    Hour,
    /// A day of UTC.
    Day,
    /// A week, from Monday on.
    Week,
    /// A month of the calendar.
    Month,
}

/// The hits of a page over some days.
#[derive(Debug, SimpleObject)]
pub struct HitReport {
    /// Hits in all.
    pub total: Long,
    /// One for each minute, hour, day, week or month, in the order of time, also where there were no hits.
    pub buckets: Vec<HitBucket>,
}

/// The hits of some time.
#[derive(Debug, SimpleObject)]
pub struct HitBucket {
    /// When it starts; a week or month may start before the days that were asked for, of which alone the hits
    /// are.
    pub starts_at: DateTime,
    /// How many there were.
    pub hits: Long,
}
