//! Counts the hits of pages by minute, hour and day, as pre-aggregated reports.
//!
//! - `statsDaily` has one document for each page and day in UTC, with the hits of each hour and of each
//!   minute. The minutes are nested below their hours, so MongoDB reaches the last minute of a day as quickly as the
//!   first one.
//! - `statsMonthly` has one document for each page and month, with the hits of each day: a month by day is
//!   one document.
//!
//! Both have a total, by which an index finds the top pages of a site.
//!
//! A hit is one upsert with `$inc` in each collection, in parallel; simultaneous hits share the upserts
//! (`mongo::counts`). The filter of the upsert is only the `_id`. So if two hits are the first ones of a document, one
//! inserts it and the other increments it. The `_id` is a document with the parts of the key as fields. So two pages never
//! have the same `_id`.
//!
//! There is no flow: the two documents are updated independently. A hit with an unknown outcome may be
//! counted in both, in one or in none; its caller gets an error.
//!
//! Hits with an idempotency key, and those of imports, are a batch. Each document remembers the batches that it contains,
//! and the update adds nothing if the batch is one of them (`store::Batch`). So a repeat completes what was interrupted,
//! and each document counts the batch once.
//!
//! Invariants: the count of an hour is the sum of its minutes; the total is the sum of all counts; no count is negative;
//! every day key is a valid date; a month counts as many hits of a day as the day's document. The repair restores the
//! totals and the last rule from the documents of days (`invariants`).

mod calendar;
mod documents;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
pub mod types;

use super::{Room, broadcasts::broadcasts, room::documented};
use crate::mongo::personal::Personal;
pub use documents::{DayDocument, MonthDocument};

/// The room.
pub const ROOM: Room = Room {
    counters: &["recordHits"],
    documents: &[documented::<DayDocument>(), documented::<MonthDocument>()],
    broadcasts: broadcasts! {
        "statsDaily" {
            find "" = "list: the days of a page, a range of `_id`",
            find "_id.site _id.date" = "list: the pages with the most hits",
        }
        "statsMonthly" {
            find "" = "list: the months of a page, a range of `_id`",
            find "_id.site _id.date" = "list: the pages with the most hits",
        }
    },
    personal: &[
        Personal::nothing("statsDaily", "numbers of hits by page"),
        Personal::nothing("statsMonthly", "numbers of hits by page"),
    ],
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    repair: Some(|app, progress| Box::pin(invariants::repair(app, progress))),
    ..Room::new("hits")
};
