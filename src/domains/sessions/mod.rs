//! Records the sessions of users, and rolls up their lengths by hour, day, week, month and year.
//!
//! ```text
//!   recordSessions ──▶ sessions ──▶ hour ──▶ day ──▶ week
//!                                              └───▶ month ──▶ year
//! ```
//!
//! # Recording
//!
//! A session is a document of `sessions`. Its `_id` follows from the idempotency key of its call. The first session of a
//! call is inserted before the others and decides whether the key was used for another input. `arrivedAt` is the
//! primary's clock at the insert.
//!
//! # Rolling up
//!
//! The document of `sessionRollups` has the *fence*, a number that each run raises by one, and the *watermark*: sessions
//! that arrived before it are rolled up. A run
//!
//! 1. raises the fence, and reads the server's time `at` by the same update, which a majority holds;
//! 2. reads the sessions of its *window*: those that arrived from the watermark, less an overlap, to `at`;
//! 3. computes anew each hour, day, week, month and year that contains one of them, from all documents of the level below
//!    ([`store`]). A document that a run with a greater fence has computed stays as it is;
//! 4. moves the watermark to `at`, if no later run has begun;
//! 5. removes the sessions of hours that no session can arrive in any more.
//!
//! A run whose time is over, or that has read as many sessions as it was told, stops. It moves the watermark to the last
//! session that it has read, and stores where in which window it stopped. The next run reads the rest of that window. So
//! however many sessions arrive, each run gets further.
//!
//! Nothing is ever added to a stored sum. So a run may be interrupted anywhere, repeated, or run beside another one. A
//! session that arrives late is in the window of the next run, and corrects the levels above it.
//!
//! **Why no session is missed.** Step 2 reads what a majority holds, and so every write that the primary carried out
//! before the update of step 1. A session that it doesn't read was inserted after that update. Its `arrivedAt` may be
//! earlier than `at`, because the primary reads its clock when a command begins, and because the clock of another primary
//! may lag. The first is bounded by the time limit of the command (`flow_command_millis`), the second by the skew
//! (`flow_skew_millis`). The overlap is one grace period, which is longer than their sum. So the next run reads it.
//! That holds for a window of several runs too: its end is the `at` of the first one, and the watermark never passes it. A
//! session that isn't visible to that first run arrived less than one grace period before the end of the window, so it is in
//! the overlap of the next window.
//!
//! **Why a slow run changes nothing.** A command of a run computes nothing after the attempt's deadline, and replaces
//! nothing that a later run has computed. A session that only the slow run has read arrived after the update of step 1 of the
//! later run. So it is in the window of the run after that.
//!
//! **Sessions that are too late.** A session that began longer ago than `session_retention_seconds` is refused. Sessions
//! are removed only when the watermark has passed the end of their hour by that time and some grace periods. The time of
//! step 5 is stored with the watermark. Hours before it aren't computed any more, so a lost session can't lower a sum.
//!
//! Runs are scheduled by the sweep, which runs under its own lease, and by `runRollup`. A lease keeps runs from doing the
//! same work; no sum depends on it. The erasure of a person does: a run that has read the person's sessions could store what
//! it has computed after the erasure. So between the sessions and the levels above them an erasure waits for the lease. No
//! command of an earlier holder is applied after that, and later ones don't find the sessions ([`person`]).
//!
//! # Invariants
//!
//! Each hour is the sum of its sessions, and each day, week, month and year that of the level below, as far as they are
//! rolled up.

mod calendar;
mod documents;
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
    room::{declared, documented, unmet},
};
use crate::mongo::indexes::Declared;
use documents::Level;
pub use documents::{RollupDocument, SessionDocument, StatDocument};

/// Shortest and longest time, in seconds, that a session may be late.
const LATE: std::ops::RangeInclusive<u64> = 3_600..=10 * 366 * 24 * 3_600;

/// The declaration of the collection of a level.
const fn of(level: Level) -> Declared {
    Declared { name: level.collection(), ..declared::<StatDocument>() }
}

/// The room.
pub const ROOM: Room = Room {
    faults: Some(|config| {
        unmet([
            (
                LATE.contains(&config.session_retention_seconds),
                "session_retention_seconds must be between 3600 and 316224000",
            ),
            (config.session_rollup_seconds >= 1, "session_rollup_seconds must be at least 1"),
        ])
    }),
    documents: &[
        documented::<SessionDocument>(),
        documented::<StatDocument>().elsewhere(),
        documented::<RollupDocument>(),
    ],
    several: &[of(Level::Hour), of(Level::Day), of(Level::Week), of(Level::Month), of(Level::Year)],
    broadcasts: broadcasts! {
        "sessions" {
            find "arrivedAt" = "roll-up: sessions in the order of their arrival",
            aggregate "slot" = "roll-up: the sessions of users and hours",
            delete "slot" = "sweep: sessions that are too old",
        }
        "sessionStatsHourly" {
            find "" = "list: the hours of a user, a range of `_id`",
        }
        "sessionStatsDaily" {
            find "" = "list: the days of a user, a range of `_id`",
        }
        "sessionStatsWeekly" {
            find "" = "list: the weeks of a user, a range of `_id`",
        }
        "sessionStatsMonthly" {
            find "" = "list: the months of a user, a range of `_id`",
        }
        "sessionStatsYearly" {
            find "" = "list: the years of a user, a range of `_id`",
        }
    },
    personal: person::PERSONAL,
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    ..Room::new("sessions")
};
