//! GraphQL types of sessions.

use async_graphql::SimpleObject;

pub use super::documents::Level;
use super::{
    documents::StatDocument,
    operations::{LENGTH, SESSIONS, USER},
};
use crate::{
    app::rfc3339,
    graphql::{
        declared::{at_least_one, each, valid},
        prelude::*,
        scalars::{DateTime, int},
    },
};

input! {
    /// A session of a user.
    pub struct SessionInput {
        /// Subject of the user's tokens, on one line, 1 to 128 characters.
        pub user_id: ID where user,
        /// Start of the session. Up to one minute ahead of the server's clock is accepted. Default: now.
        pub at: Option<DateTime>,
        /// Length in seconds, 0 to 86,400. The session counts in the periods in which it began.
        pub seconds: i32 where within(LENGTH),
    }

    /// Input of `recordSessions`: the sessions.
    pub struct RecordSessionsInput {
        /// Sessions, 1 to 100.
        pub sessions: Vec<SessionInput> where sessions,
        /// Idempotency key, 1 to 128 characters. It is remembered for as long as the sessions are kept.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `runRollup`.
    pub struct RunRollupInput {
        /// Number of sessions after which the run stops, 1 to 1,000,000. It may exceed the number a little. Default: it stops
        /// when no more are waiting, or when its time is over.
        pub max_sessions: Option<i32> where optional(within(1..=1_000_000)),
    }
}

/// Checks the subject of a user.
fn user(field: &str, user: &mut ID) -> Result<(), InvalidInput> {
    input::line(field, user, USER).map(|_| ())
}

/// Checks the sessions of a call.
fn sessions(field: &str, sessions: &mut Vec<SessionInput>) -> Result<(), InvalidInput> {
    at_least_one(SESSIONS)(field, sessions)?;
    each(SESSIONS, valid)(field, sessions)
}

refusal! {
    /// A session began too long ago. This call has recorded none of its sessions. A call before with the same idempotency
    /// key that was interrupted may have recorded some.
    struct SessionTooLate as "SESSION_TOO_LATE" {
        /// Path of the session in the input, such as `input.sessions.0`.
        pub field: String,
        /// Time since when sessions can be recorded.
        pub recordable_since: DateTime,
    }
}

impl SessionTooLate {
    /// The refusal of a session of the input.
    pub(super) fn new(number: usize, since: DateTime) -> Self {
        let message = format!("the session began before {}", rfc3339(since.0));
        Self::because(message, format!("input.sessions.{number}"), since)
    }
}

/// Result of a successful `recordSessions`.
#[derive(Debug, SimpleObject)]
pub struct SessionsRecorded {
    /// Number of sessions of the call.
    pub count: i32,
}

/// Result of `runRollup`.
#[derive(Debug, SimpleObject)]
pub struct RolledUp {
    /// Number of sessions that arrived since the roll-up before, and are now in the reports.
    pub sessions: i32,
    /// Sessions that arrived before this time are in the reports.
    pub up_to: DateTime,
    /// Whether all sessions are in the reports that were recorded before the run. If not, the next run continues.
    pub is_complete: bool,
}

result! {
    /// Result of `recordSessions`: the number of recorded sessions, or a refusal. A call that is refused recorded none of
    /// them.
    pub enum RecordSessionsResult:
        SessionsRecorded | SessionTooLate | Conflict | InvalidInput;

    /// Result of `runRollup`.
    pub enum RunRollupResult:
        RolledUp | InvalidInput;
}

/// Lengths of a user's sessions.
#[derive(Debug, SimpleObject)]
pub struct SessionReport {
    /// Number of sessions in all periods of the report.
    pub count: Long,
    /// Sum of their lengths, in seconds.
    pub total_seconds: Long,
    /// Mean of their lengths, in seconds; null if there are none.
    pub mean_seconds: Option<f64>,
    /// The periods with sessions, in chronological order.
    pub periods: Vec<SessionPeriod>,
}

/// Lengths of a user's sessions that began in one period.
#[derive(Debug, SimpleObject)]
pub struct SessionPeriod {
    /// Start of the period.
    pub starts_at: DateTime,
    /// Number of sessions.
    pub count: Long,
    /// Sum of their lengths, in seconds.
    pub total_seconds: Long,
    /// Mean of their lengths, in seconds.
    pub mean_seconds: f64,
    /// Shortest length, in seconds.
    pub shortest_seconds: i32,
    /// Longest length, in seconds.
    pub longest_seconds: i32,
}

#[expect(clippy::cast_precision_loss, reason = "a mean is approximate")]
fn mean(total: i64, count: i64) -> f64 {
    total as f64 / count as f64
}

impl From<StatDocument> for SessionPeriod {
    fn from(stat: StatDocument) -> Self {
        Self {
            starts_at: DateTime(stat.id.at),
            count: Long(stat.count),
            total_seconds: Long(stat.total),
            mean_seconds: mean(stat.total, stat.count),
            shortest_seconds: int(stat.shortest),
            longest_seconds: int(stat.longest),
        }
    }
}

impl From<Vec<StatDocument>> for SessionReport {
    fn from(stats: Vec<StatDocument>) -> Self {
        let count: i64 = stats.iter().map(|stat| stat.count).sum();
        let total: i64 = stats.iter().map(|stat| stat.total).sum();
        Self {
            count: Long(count),
            total_seconds: Long(total),
            mean_seconds: (count > 0).then(|| mean(total, count)),
            periods: stats.into_iter().map(SessionPeriod::from).collect(),
        }
    }
}
