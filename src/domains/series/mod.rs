//! Counts the views of pages by second, as time series.
//!
//! The setting `series_engine` decides how they are stored. The fields of the schema are the same.
//!
//! - `buckets`: `pageViews` has one document for each page and minute, with the total and the views of each second. A view
//!   is one upsert with `$inc`; simultaneous views share the upserts (`mongo::counts`). The filter of the upsert is only the
//!   `_id`. So if two views are the first ones of a minute, one inserts the document and the other increments it. The `_id` is
//!   a document with page and minute as fields. So two pages never have the same `_id`, and the minutes of a page are adjacent.
//! - `native`: `pageViewPoints` is a time-series collection of MongoDB. A view is a measurement; simultaneous views of one
//!   second are one measurement with their number.
//!
//! Neither has a flow. A view with an unknown outcome may be counted or not; its caller gets an error.
//!
//! Views of an import ([`operations::count`]) are counted once by the engine `buckets`, however often the import is repeated. A
//! bucket has the number of the last batch of each source that it contains, and an update is guarded by it. An insert of a
//! measurement has no such guard. With `native`, `viewImports` has the last batch of each source that was inserted as a whole.
//! So the views of an interrupted batch may be counted twice.
//!
//! Invariants, of the engine `buckets`: the total of a bucket is the sum of its seconds; no count is below zero; every
//! bucket begins at a full minute.

mod documents;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
mod sweep;
pub mod types;

use super::{
    Room,
    broadcasts::broadcasts,
    room::{Later, Made, documented, unmet},
};
use crate::mongo::personal::Personal;
pub use documents::{BucketDocument, ImportDocument, PointDocument};

/// Shortest retention in seconds: the series of an hour can be read as a whole.
const SHORTEST: u64 = 3_600;
/// Longest retention in seconds: a century, so that no time can overflow.
const LONGEST: u64 = 100 * 366 * 24 * 3_600;

/// The room.
pub const ROOM: Room = Room {
    faults: Some(|config| {
        let retention = config.series_retention_seconds;
        unmet([(
            retention == 0 || (SHORTEST..=LONGEST).contains(&retention),
            "series_retention_seconds must be 0, which keeps views forever, or between 3600 and 3162240000",
        )])
    }),
    counters: &["recordViews"],
    documents: &[
        documented::<BucketDocument>(),
        documented::<PointDocument>().elsewhere(),
        documented::<ImportDocument>(),
    ],
    // With `series_engine = "native"`.
    later: &[Later::of::<PointDocument>("pageViewPoints", Made::TimeSeries)],
    broadcasts: broadcasts! {
        "pageViews" {
            find "" = "list: the minutes of a page, a range of `_id`",
            aggregate "" = "list: the hours and days of a page, a range of `_id`",
        }
    },
    personal: &[
        Personal::nothing("pageViews", "numbers of views by page"),
        Personal::nothing("pageViewPoints", "numbers of views by page"),
        Personal::nothing("viewImports", "names of files"),
    ],
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    ..Room::new("series")
};
