//! Hits of pages, counted by minute, hour and day: pre-aggregated reports.
//!
//! - `statsDaily` has one document for each page and day of UTC, with the hits of each hour and, nested below their
//!   hours so that late minutes cost no more to reach than early ones, of each minute.
//! - `statsMonthly` has one for each page and month, with the hits of each day: a month by day is one document.
//!
//! A hit is one upsert with `$inc` in each, side by side, and what comes at the same moment shares them
//! (`mongo::counts`). The filter is the `_id` alone, so that two first hits both count; its parts stand apart in a
//! document, so that no two pages can share one.
//!
//! There is no flow: the two documents are counted each for itself. A hit whose outcome nobody knows may be in both,
//! in one or in none; its caller is told.
//!
//! Invariants: an hour counts what its minutes count; no count is below one; days are named as the calendar has them.

mod documents;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
pub mod types;

pub use documents::{DayDocument, MonthDocument};
