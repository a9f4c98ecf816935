//! Logs requests as typed events, and lists and counts them.
//!
//! # Storage
//!
//! ```text
//!   logEvents, import ──▶ events_2026_10, events_2026_11, … ──after events_retention_days──▶ (dropped)
//! ```
//!
//! - The events of a month, by their own time in UTC, are in a collection of their own. A gateway creates it with its
//!   indexes before it first inserts there, and the sweep creates the next one a day ahead of its first moment. Both are
//!   `createIndexes`, which several gateways may send at once.
//! - The sweep drops a month as a whole once its last moment is older than `events_retention_days`. Older events are
//!   refused. So only a command that is under way for longer than [`SLACK`](sweep::SLACK) can insert into a dropped month.
//!   The next pass drops the collection that such a command creates.
//! - A list that crosses months reads one range of one index in each of them, one month after the other, until its page is
//!   full.
//!
//! # Repeats
//!
//! An event's `_id` follows from its call and its position in it. A call with an idempotency key has a document in
//! `eventCalls`, which is inserted first: it holds the digest of the input, and the time of the call for events without
//! one. So a repeat has the same `_id`s in the same months, and an event whose `_id` is taken is skipped. An imported line
//! has an `_id` of its file, its offset and its content.
//!
//! The `_id`s of a call with a key follow from the digest too, and those of events without a time from the time of the call.
//! So other events under a key that was forgotten have other `_id`s. Older versions left both out. Their documents in
//! `eventCalls` hold the digest alone, and a repeat of such a call has the `_id`s of the older version.
//!
//! There is no flow: each event is one insert, and no document depends on another one.
//!
//! # Invariants
//!
//! Each event is in the collection of its month, and each of these collections has its indexes.

pub mod calendar;
mod documents;
pub mod import;
pub mod invariants;
pub mod operations;
mod person;
pub mod resolvers;
mod store;
mod sweep;
pub mod types;

use super::{
    Room,
    broadcasts::broadcasts,
    room::{Later, Made, documented, unmet},
};
use crate::graphql::many::Bulk;
pub use documents::{CallDocument, EventDocument, ImportDocument};

/// The room.
pub const ROOM: Room = Room {
    faults: Some(|config| {
        unmet([
            (
                config.events_retention_days <= 36_500,
                "events_retention_days can't be above 36500; 0 keeps events for good",
            ),
            (
                (1..=1_000_000_000).contains(&config.events_counted),
                "events_counted must be between 1 and 1000000000",
            ),
        ])
    }),
    bulk: &[Bulk::of::<types::EventInput>()],
    // The collections of months are created at run time.
    documents: &[
        documented::<EventDocument>().elsewhere(),
        documented::<CallDocument>(),
        documented::<ImportDocument>(),
    ],
    later: &[Later::of::<EventDocument>("events_*", Made::Monthly)],
    broadcasts: broadcasts! {
        "events_*" {
            find "at" = "list: the events of a path, a host or a day, by time",
            aggregate "at" = "list: the number of events by day and page",
        }
        "eventCalls" {
            delete "at" = "sweep: calls that needn't be remembered",
        }
    },
    personal: person::PERSONAL,
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    repair: Some(|app, _| Box::pin(invariants::repair(app))),
    ..Room::new("events")
};
