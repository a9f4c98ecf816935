//! Runs of the roll-up. The head of the room's `mod.rs` explains why no session is missed or counted twice.

use std::{collections::BTreeSet, time::Duration};

use mongodb::bson::DateTime;

use super::{
    super::{
        documents::{ABOVE, Level, RollupDocument, SessionDocument, Stopped},
        store::{self, Run},
        types::{RolledUp, RunRollupInput, RunRollupResult},
    },
    calendar, retention,
};
use crate::{
    domains::times::{HOUR, floor},
    flow::{earlier, lease::Lease},
    graphql::prelude::*,
};

/// Name of the lease.
pub(in super::super) const LEASE: &str = "sessionRollup";
/// Number of sessions whose periods are computed by the same commands. A session names up to 31 parts of its month, so
/// that a command reads up to 3,100 documents.
const BATCH: i64 = 100;
/// Time after which the watermark is moved even if no sessions arrive, so that old ones are removed.
const IDLE: Duration = Duration::from_secs(24 * 3_600);

/// A user and the start of a period, in milliseconds since 1970.
pub(in super::super) type Period = (String, i64);

/// Rolls up the sessions that have arrived.
pub async fn run_rollup(cx: Cx<'_>, input: RunRollupInput) -> Answer<RunRollupResult> {
    let input = input.checked()?;
    let most = input.max_sessions.map_or(u64::MAX, |most| u64::from(most.unsigned_abs()));
    let holder = cx.ids().random();
    let (lease, attempt) = Lease::wait_for(cx.collection(), LEASE, holder, cx.bounds()).await?;
    let done = run(&cx, &attempt, most).await;
    lease.end(done.is_ok()).await;
    Ok(done?)
}

/// Rolls up the sessions that have arrived, if the last roll-up is long enough ago.
pub(in super::super) async fn roll_up_if_due(app: &App) -> Result<()> {
    let attempt = app.begin().await?;
    let ago = |ago| earlier(attempt.now(), ago);
    let interval = Duration::from_secs(app.config().session_rollup_seconds);
    let before = store::rollup(app).await?;
    let upto = before.as_ref().map(|before| before.upto);
    // A run that stopped is continued at once.
    if before.is_none_or(|before| before.stopped.is_none()) {
        if upto.is_some_and(|upto| upto > ago(interval)) {
            return Ok(());
        }
        let is_recent = upto.is_none_or(|upto| upto > ago(IDLE));
        if is_recent && !store::has_arrived(app, settled(app, upto)).await? {
            return Ok(());
        }
    }
    let holder = app.ids().random();
    let acquired = Lease::acquire(app.collection(), LEASE, holder, &attempt, app.bounds()).await?;
    let Some(lease) = acquired else { return Ok(()) };
    let done = run(app, &attempt, u64::MAX).await;
    lease.end(done.is_ok()).await;
    done.map(|_| ())
}

/// The time before which every session that has arrived was read by the roll-up with this watermark.
pub(in super::super) fn settled(app: &App, upto: Option<DateTime>) -> DateTime {
    let upto = upto.unwrap_or(DateTime::from_millis(0));
    earlier(upto, app.bounds().grace_period())
}

/// One run within an attempt.
async fn run(app: &App, attempt: &Attempt, most: u64) -> Result<RolledUp> {
    let before = store::begin(app, attempt).await?;
    let run =
        Run { fence: before.fence, deadline: attempt.deadline(), limit: attempt.command_limit() };
    let mut stopped = before.stopped.clone();
    let end = stopped.as_ref().map_or(before.at, |stopped| stopped.end);
    let window = [settled(app, Some(before.upto)), end];
    let (is_continued, mut sessions) = (stopped.is_some(), 0);
    let mut longest = 0;
    let is_complete = loop {
        let start = attempt.clock().timestamp_millis();
        let arrived = store::arrived(app, window, stopped.as_ref(), BATCH).await?;
        let is_last = i64::try_from(arrived.len()).unwrap_or(BATCH) < BATCH;
        compute(app, &before, &arrived, run).await?;
        let is_new = |one: &&SessionDocument| {
            let upto = Some(before.upto);
            one.arrived_at > upto || is_continued && one.arrived_at == upto
        };
        sessions += arrived.iter().filter(is_new).count() as u64;
        let last = arrived.into_iter().next_back();
        let last = last.and_then(|last| Some((last.arrived_at?, last.id)));
        stopped =
            last.map(|(arrived_at, session)| Stopped { end, arrived_at, session }).or(stopped);
        if is_last {
            break true;
        }
        longest = longest.max(attempt.clock().timestamp_millis() - start);
        if sessions >= most || !has_time(app, attempt, longest) {
            break false;
        }
    };
    let stopped = stopped.filter(|_| !is_complete);
    let upto = stopped.as_ref().map_or(end, |stopped| stopped.arrived_at.max(before.upto));
    let kept_from = kept_from(app, upto).max(before.kept_from);
    let finished = store::finish(app, run, [upto, kept_from], stopped.as_ref());
    if !finished.within(attempt).held().await? {
        if attempt.is_over() {
            return Err(attempt.overdue());
        }
        return Err(Error::unavailable("a later run of the roll-up has begun"));
    }
    if kept_from > before.kept_from {
        store::remove_before(app, kept_from).await?;
    }
    let sessions = i32::try_from(sessions).unwrap_or(i32::MAX);
    Ok(RolledUp { sessions, up_to: upto.into(), is_complete })
}

/// Whether another batch can be computed before the attempt's deadline, even if it takes twice the time of the longest
/// one before, in milliseconds.
fn has_time(app: &App, attempt: &Attempt, longest: i64) -> bool {
    let longest = Duration::from_millis(u64::try_from(longest).unwrap_or(0));
    attempt.clock() < earlier(attempt.deadline(), app.bounds().command.max(longest * 2))
}

/// Start of the first hour in which a session may still arrive, or may have arrived without being rolled up.
fn kept_from(app: &App, upto: DateTime) -> DateTime {
    let since =
        earlier(settled(app, Some(upto)), retention(app) + app.bounds().two_grace_periods());
    DateTime::from_millis(floor(since.timestamp_millis(), HOUR))
}

/// Computes every period that contains one of these sessions, from the bottom to the top.
async fn compute(
    app: &App,
    before: &RollupDocument,
    arrived: &[SessionDocument],
    run: Run,
) -> Result<()> {
    let slots = arrived.iter().map(|session| &session.slot);
    let hours: BTreeSet<Period> = slots
        .filter(|slot| slot.hour >= before.kept_from)
        .map(|slot| (slot.user.clone(), slot.hour.timestamp_millis()))
        .collect();
    if hours.is_empty() {
        return Ok(());
    }
    let calendar = calendar(app);
    store::compute_hours(app, &hours, run).await?;
    for level in ABOVE {
        let period = |(user, hour): &Period| (user.clone(), calendar.start(level, *hour));
        let periods: BTreeSet<Period> = hours.iter().map(period).collect();
        let below = level.below().unwrap_or(Level::Hour);
        let parts = periods.iter().flat_map(|(user, start)| {
            calendar.parts(level, *start, below).map(|part| (user.clone(), part))
        });
        store::compute(app, level, below, parts.collect(), run).await?;
    }
    Ok(())
}
