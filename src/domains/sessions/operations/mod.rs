//! The rules of sessions.

mod rollup;

pub use rollup::run_rollup;
pub(super) use rollup::{LEASE, Period, roll_up_if_due, settled};

use std::{ops::RangeInclusive, time::Duration};

use mongodb::bson;

use super::{
    calendar::{Calendar, shortest},
    documents::{Level, SessionDocument, Slot, StatDocument},
    store,
    types::{
        RecordSessionsInput, RecordSessionsResult, SessionInput, SessionTooLate, SessionsRecorded,
    },
};
use crate::{
    domains::times::{Between, HOUR, Times, floor},
    flow::{earlier, later},
    graphql::{prelude::*, scalars::DateTime},
    mongo::Version,
};

/// Maximum number of sessions in one call.
pub(super) const SESSIONS: usize = 100;
/// Length of a subject in characters.
pub(super) const USER: RangeInclusive<usize> = 1..=128;
/// Length of a session in seconds.
pub(super) const LENGTH: RangeInclusive<i64> = 0..=86_400;
/// How far a caller's clock may be ahead.
const AHEAD: Duration = Duration::from_secs(60);
/// Maximum number of periods of a report.
const PERIODS: i64 = 1_500;
/// Number of periods before the end of a report with which it begins by default.
const DEFAULT: i64 = 30;
/// Times that a report can have as bounds: those that can be written as text, less two years at each end.
const TIMES: Times = Times {
    range: 63_072_000_000..=253_339_228_800_000,
    years: "must be between the years 1972 and 9997",
    early: "needs from, because the report would begin before 1972 without it",
};

/// How late a session may be recorded.
fn retention(app: &App) -> Duration {
    Duration::from_secs(app.config().session_retention_seconds)
}

pub(super) fn calendar(app: &App) -> Calendar {
    Calendar { week_start: app.config().session_week_start }
}

/// Records sessions, once per idempotency key.
pub async fn record_sessions(
    cx: Cx<'_>,
    input: RecordSessionsInput,
) -> Answer<RecordSessionsResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let op = cx.op(&[subject, "recordSessions"], &input);
    let attempt = cx.begin().await?;
    let sessions = input.into_inner().sessions;
    let (count, since) = (sessions.len(), earlier(attempt.now(), retention(&cx)));
    let start = |session: &SessionInput| session.at.map_or(attempt.now(), |at| at.0);
    let is_ahead = |session: &SessionInput| start(session) > later(attempt.now(), AHEAD);
    if let Some(number) = sessions.iter().position(is_ahead) {
        let field = format!("sessions.{number}.at");
        return Err(InvalidInput::new(&field, "can't be in the future").into());
    }
    let is_late = |session: &SessionInput| start(session) < since;
    let late = sessions.iter().position(is_late);
    let mut documents: Vec<_> = sessions
        .into_iter()
        .enumerate()
        .map(|(number, session)| document(&op, number, start(&session), session))
        .collect();
    if let Some(number) = late {
        // The repeat of a call that was in time.
        if store::count_of(&cx, &documents, &op.input).await? < count {
            return Err(SessionTooLate::new(number, DateTime(since)).into());
        }
        return Ok(recorded(count));
    }
    let others = documents.split_off(1);
    let id = format!("{}.00", op.id);
    if store::insert(&cx, documents, &attempt).await? == 0 {
        match store::find(&cx, &id).await? {
            Some(first) if first.input == op.input => {}
            Some(_) => return Err(Conflict::other_input().into()),
            None => return Err(Error::unavailable("the first session was removed").into()),
        }
    }
    store::insert(&cx, others, &attempt).await?;
    Ok(recorded(count))
}

fn recorded(count: usize) -> SessionsRecorded {
    SessionsRecorded { count: i32::try_from(count).unwrap_or(i32::MAX) }
}

/// The document of a session. The number has two digits: there are at most a hundred.
fn document(op: &Op, number: usize, at: bson::DateTime, session: SessionInput) -> SessionDocument {
    let hour = bson::DateTime::from_millis(floor(at.timestamp_millis(), HOUR));
    SessionDocument {
        id: format!("{}.{number:02}", op.id),
        slot: Slot { hour, user: session.user_id.0 },
        at,
        seconds: session.seconds.into(),
        arrived_at: None,
        input: op.input.clone(),
        v: Version,
    }
}

/// The lengths of a user's sessions, by the periods that begin in the time from `from`, inclusive, to `to`, exclusive, and
/// the period that contains `from`.
///
/// # Errors
/// `Forbidden` if they are another user's and the caller isn't an analyst; `BadInput` that names the argument.
pub async fn session_report(
    cx: Cx<'_>,
    user: &str,
    level: Level,
    times: [Option<DateTime>; 2],
) -> Result<Vec<StatDocument>> {
    if !cx.requester.is(user) && !cx.requester.has(Role::Analyst) {
        return Err(Error::Forbidden(Role::Analyst.name()));
    }
    let user = input::line("userId", user, USER)?;
    let Between { from, to, given } = TIMES.between(&cx, times, DEFAULT * shortest(level))?;
    let first = calendar(&cx).start(level, from);
    if calendar(&cx).has_more(level, [first, to], PERIODS) {
        let reason = format!("asks for more than {PERIODS} periods of this length");
        return Err(Error::bad_input(given, reason));
    }
    store::list(&cx, &user, level, [first, to], PERIODS + 1).await
}
