//! Counts the hits of pages by minute, hour and day, as pre-aggregated reports.
//!
//! - `statsDaily` has one document for each page and day in UTC, with the hits of each hour and of each
//!   minute. The minutes are nested below their hours, so that late minutes cost no more to reach than early
//!   ones.
//! - `statsMonthly` has one document for each page and month, with the hits of each day: a month by day is
//!   one document.
//!
//! A hit is one upsert with `$inc` in each collection, in parallel; simultaneous hits share the upserts
//! (`mongo::counts`). The filter is only the `_id`, so that two first hits both count. The parts of the `_id`
//! are fields of a document, so that no two pages can share one.
//!
//! There is no flow: the two documents are counted independently. A hit with an unknown outcome may be
//! counted in both, in one or in none; its caller gets an error.
//!
//! Invariants: the count of an hour is the sum of its minutes; no count is below one; every day key is a
//! valid date.

mod documents;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
pub mod types;

use super::{Room, room::declared};
pub use documents::{DayDocument, MonthDocument};

/// The room.
pub const ROOM: Room = Room {
    counters: &["recordHits"],
    collections: &[declared::<DayDocument>(), declared::<MonthDocument>()],
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    ..Room::new("hits")
};
