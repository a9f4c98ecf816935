//! GraphQL types of series.

use async_graphql::{Enum, SimpleObject};
use mongodb::bson;

use super::operations::{ByStart, VIEWS};
use crate::graphql::{prelude::*, scalars::DateTime};

input! {
    /// A view of a page.
    pub struct ViewInput {
        /// Page, such as `/music/jazz`, on one line, up to 8,192 bytes.
        pub page: String where page(),
        /// Time of the view. It is kept for the retention that the operator has set; up to one minute ahead of the
        /// server's clock is accepted. Default: now.
        pub at: Option<DateTime>,
    }

    /// Input of `recordViews`: the views to count.
    pub struct RecordViewsInput {
        /// Views to count, 1 to 100.
        pub views: Vec<ViewInput> where at_least_one(VIEWS),
    }

    /// Input of `preallocateViews`: the hour whose buckets to create.
    pub struct PreallocateViewsInput {
        /// Page, as in `recordViews`.
        pub page: String where page(),
        /// Any time in the hour. It can be up to seven days ahead. Default: the next hour.
        pub hour: Option<DateTime>,
    }
}

/// Result of a successful `recordViews`.
#[derive(Debug, SimpleObject)]
pub struct ViewsRecorded {
    /// Number of views that were counted.
    pub count: i32,
}

/// Result of a successful `preallocateViews`.
#[derive(Debug, SimpleObject)]
pub struct ViewsPreallocated {
    /// Number of buckets that were created, at most 60. The others of the hour existed, and keep their counts. It is 0
    /// if the gateway stores views in a time-series collection of MongoDB, which has nothing to create.
    pub created: i32,
}

result! {
    /// Result of `recordViews`: the number of counted views, or a refusal. A refusal counted none of them.
    pub enum RecordViewsResult:
        ViewsRecorded | InvalidInput;

    /// Result of `preallocateViews`: the number of created buckets, or a refusal.
    pub enum PreallocateViewsResult:
        ViewsPreallocated | InvalidInput;
}

/// Length of the points of a time series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(name = "SeriesResolution")]
pub enum Resolution {
    /// One second.
    Second,
    /// One minute, beginning at a full minute in UTC.
    Minute,
    /// One hour, beginning at a full hour in UTC.
    Hour,
    /// One day in UTC, from midnight to midnight.
    Day,
}

/// Views of a page as a time series.
#[derive(Debug, SimpleObject)]
pub struct ViewSeries {
    /// Sum of all points.
    pub total: Long,
    /// Points in chronological order, without gaps: a point without views is listed with 0.
    pub points: Vec<ViewPoint>,
}

/// Number of views in one second, minute, hour or day.
#[derive(Debug, SimpleObject)]
pub struct ViewPoint {
    /// Start of the point.
    pub starts_at: DateTime,
    /// Views from `startsAt` to the start of the next point.
    pub views: Long,
}

impl From<ByStart> for ViewSeries {
    fn from(counted: ByStart) -> Self {
        let total = Long(counted.values().sum());
        let point = |(start, views)| {
            let starts_at = DateTime(bson::DateTime::from_millis(start));
            ViewPoint { starts_at, views: Long(views) }
        };
        Self { total, points: counted.into_iter().map(point).collect() }
    }
}
