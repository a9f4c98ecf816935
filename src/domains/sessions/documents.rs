//! Stored documents of sessions.

use async_graphql::Enum;

use crate::mongo::prelude::*;

document! {
    /// A session of a user.
    pub struct SessionDocument {
        /// The op that recorded it, and its number in the call.
        pub id as "_id": String,
        /// Hour and user.
        pub slot: Slot,
        /// Its start.
        pub at: DateTime,
        /// Its length in seconds.
        pub seconds: i64,
        /// The primary's time when it was inserted. The insert adds it.
        pub arrived_at?: DateTime,
        /// Digest of the op's input.
        pub input: String,
        /// Version of the document's shape.
        pub v: Version<1>,
    } in "sessions" of Activity {
        plain("arrived_at", "arrivedAt _id", "the sessions of a roll-up"),
        plain("slot", "slot", "the sessions of an hour"),
    }

    /// The hour in which a session began, and its user. Documents are compared field by field in this order, so the
    /// sessions of an hour are adjacent.
    pub struct Slot {
        /// Start of the hour.
        pub hour: DateTime,
        /// Subject of the user.
        pub user: String,
    }

    /// The lengths of a user's sessions that began in one hour, day, week, month or year.
    pub struct StatDocument {
        /// User and start of the period.
        pub id as "_id": UserPeriod,
        /// Sum of the lengths, in seconds.
        pub total: i64,
        /// Number of sessions.
        pub count: i64,
        /// Shortest length, in seconds.
        pub shortest: i64,
        /// Longest length, in seconds.
        pub longest: i64,
        /// Fence of the run that has computed it.
        pub fence: i64,
        /// Version of the document's shape.
        pub v: Version<1>,
    }

    /// A user and the start of a period. The periods of a user are adjacent, ordered by time.
    pub struct UserPeriod {
        /// Subject of the user.
        pub user: String,
        /// Start of the period.
        pub at: DateTime,
    }

    /// How far sessions are rolled up.
    pub struct RollupDocument {
        /// Always [`ROLLUP`].
        pub id as "_id": String,
        /// Fence of the last run that began.
        pub fence: i64,
        /// Fence of the last run that rolled up everything in its window.
        pub done: i64,
        /// The primary's time when the last run began.
        pub at: DateTime,
        /// The watermark: sessions that arrived before it are rolled up.
        pub upto: DateTime,
        /// Start of the first hour whose sessions are all stored.
        pub kept_from: DateTime,
        /// Where the last run stopped, if it didn't read all sessions of its window.
        pub stopped?: Stopped,
        /// Version of the document's shape.
        pub v: Version<1>,
    } in "sessionRollups" of Activity by unsharded("it is one document") {}

    /// Where a run stopped in its window. The next run reads the rest of the same window.
    pub struct Stopped {
        /// End of the window: the primary's time when the first run of the window began.
        pub end: DateTime,
        /// Arrival of the last session that was read.
        pub arrived_at: DateTime,
        /// `_id` of the last session that was read.
        pub session: String,
    }
}

/// `_id` of the one [`RollupDocument`].
pub(super) const ROLLUP: &str = "sessions";

impl Stored for StatDocument {
    const COLLECTION: &'static str = Level::Hour.collection();
    const GROUP: Group = Group::Activity;
}

/// Length of the periods of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(name = "SessionLevel")]
pub enum Level {
    /// One hour in UTC.
    Hour,
    /// One day in UTC.
    Day,
    /// One week in UTC. The operator sets its first day, which is Monday by default.
    Week,
    /// One calendar month in UTC.
    Month,
    /// One calendar year in UTC.
    Year,
}

impl Level {
    /// The collection with its documents.
    pub(super) const fn collection(self) -> &'static str {
        match self {
            Self::Hour => "sessionStatsHourly",
            Self::Day => "sessionStatsDaily",
            Self::Week => "sessionStatsWeekly",
            Self::Month => "sessionStatsMonthly",
            Self::Year => "sessionStatsYearly",
        }
    }

    /// Its name, as MongoDB has it too.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    /// The level from whose documents this one is computed; `None` for hours, which are computed from sessions.
    pub(super) const fn below(self) -> Option<Self> {
        match self {
            Self::Hour => None,
            Self::Day => Some(Self::Hour),
            Self::Week | Self::Month => Some(Self::Day),
            Self::Year => Some(Self::Month),
        }
    }
}

/// The levels above hours, each after the one from which it is computed.
pub(super) const ABOVE: [Level; 4] = [Level::Day, Level::Week, Level::Month, Level::Year];
