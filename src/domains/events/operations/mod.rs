//! The rules of events.

mod calls;
mod lists;
pub(super) mod months;

pub(super) use lists::{Counted, events, requests_by_day_and_page};

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use mongodb::bson::RawDocumentBuf;

use self::calls::{Batch, Call, first_call};
use super::{
    calendar::Month,
    documents::Event,
    store,
    types::{
        EventDurability, EventFailure, EventInput, EventsLogged, LogEventsInput, LogEventsResult,
    },
};
use crate::{
    config::Concern,
    domains::times::DAY,
    graphql::{
        prelude::*,
        shares::{Clients, Shares},
    },
    join::try_join_all,
    mongo::Group,
};

/// Maximum number of events of one call.
pub(super) const AT_ONCE: usize = 1_000;
/// Maximum size of the events of one call, in bytes.
const BYTES: usize = 8 << 20;
/// How far a caller's clock may be ahead, in milliseconds.
const AHEAD: i64 = 60_000;

/// The oldest time that an event may have, in milliseconds since 1970; `None` if events are kept for good.
pub fn oldest(app: &App, now: i64) -> Option<i64> {
    let days = i64::from(app.config().events_retention_days);
    (days > 0).then(|| now - days * DAY)
}

/// The times that an event may have.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    oldest: Option<i64>,
    newest: i64,
}

impl Times {
    /// The times by this machine's clock.
    pub fn now(app: &App) -> Self {
        let now = app.clock().timestamp_millis();
        Self { oldest: oldest(app, now), newest: now + AHEAD }
    }

    /// Checks a time.
    ///
    /// # Errors
    /// The reason for which it can't be that of an event.
    pub fn check(&self, at: i64) -> Result<(), &'static str> {
        if at < 0 {
            return Err("must not be before 1970");
        }
        if self.oldest.is_some_and(|oldest| at < oldest) {
            return Err("is before the time for which events are kept (events_retention_days)");
        }
        if at > self.newest {
            return Err("is in the future");
        }
        Ok(())
    }
}

/// Stored events by month, each with its position in its call.
type ByMonth = BTreeMap<Month, Vec<(usize, RawDocumentBuf)>>;

/// Logs events. Those that are invalid are refused one by one, and the others are logged.
///
/// # Errors
/// `Unavailable`: some of them may have been logged. `Overloaded`: none was.
pub async fn log_events(cx: Cx<'_>, input: LogEventsInput) -> Answer<LogEventsResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let durability =
        input.durability.unwrap_or_else(|| EventDurability::of(cx.placement().concern(Group::Log)));
    let concern = durability.concern();
    let op = match &input.idempotency_key {
        Some(_) if concern.is_none() => {
            let reason = "can't be used with UNACKNOWLEDGED, which tells nothing that a repeat could be about";
            return Err(InvalidInput::new("idempotencyKey", reason).into());
        }
        key => key.is_some().then(|| cx.op(&[subject, "logEvents"], &input)),
    };
    let (now, times) = (cx.clock(), Times::now(&cx));
    let call = match &op {
        Some(op) => Call::keyed(&cx, op, now),
        None => Call::unkeyed(&cx, now),
    };
    let mut batch = call.batch(&input.events, now, &times);
    // The key isn't recorded yet, so the corrected call can have it.
    if batch.bytes > BYTES {
        let reason = format!("are larger than {} MiB together", BYTES >> 20);
        return Err(InvalidInput::new("events", reason).into());
    }
    if let Some(op) = &op
        && let Some(first) = first_call(&cx, op, now).await?
    {
        batch = first.batch(&input.events, now, &times);
    }
    let Batch { months, mut failures, bytes } = batch;
    let valid = input.events.len() - failures.len();
    let Some(concern) = concern else {
        if valid > 0 {
            hand_over(&cx, months, bytes)?;
        }
        return Ok(EventsLogged::new(valid, durability, failures));
    };
    let rejected = append(&cx, months, concern).await?;
    let valid = valid - rejected.len();
    failures.extend(rejected.into_iter().map(|(position, reason)| {
        tracing::warn!(event = "event_rejected", reason, "MongoDB rejected an event");
        EventFailure::new(position, None, "MongoDB rejected it")
    }));
    failures.sort_by_key(|failure| failure.index);
    Ok(EventsLogged::new(valid, durability, failures))
}

/// Size of the events that this gateway logs and for which nobody waits, in bytes.
#[derive(Default)]
struct Backlog(OnceLock<Arc<Shares>>);

/// Maximum of it.
const BACKLOG: usize = 32 << 20;
/// What a call takes up beside its events.
const PER_CALL: usize = 1 << 10;

/// Logs events for which nobody waits. If they can't be logged, they are lost.
fn hand_over(cx: &Cx<'_>, months: ByMonth, bytes: usize) -> Result<(), Error> {
    let (backlog, client) =
        (cx.shared::<Backlog>(), cx.shared::<Clients>().of_caller(cx.requester));
    let percent = cx.config().client_share_percent;
    let backlog = backlog.0.get_or_init(|| Shares::of(BACKLOG, percent));
    let permit = backlog.acquire_units(Some(client), bytes + PER_CALL);
    let permit = permit.map_err(|_reached| Error::Overloaded)?;
    let app = cx.app.clone();
    cx.tasks().spawn(async move {
        let count: usize = months.values().map(Vec::len).sum();
        let lost = match append(&app, months, Concern::Primary).await {
            Ok(rejected) if rejected.is_empty() => None,
            Ok(rejected) => Some((rejected.len(), "MongoDB rejected them".to_owned())),
            Err(error) => Some((count, format!("{error:?}"))),
        };
        if let Some((count, reason)) = lost {
            tracing::warn!(event = "events_lost", count, reason, "unacknowledged events were lost");
        }
        drop(permit);
    });
    Ok(())
}

/// Inserts events into their months. Returns the positions of those that MongoDB rejected, with its reasons.
async fn append(
    app: &App,
    months: ByMonth,
    concern: Concern,
) -> Result<Vec<(usize, String)>, Error> {
    let each = months.into_iter().map(|(month, events)| async move {
        let month = months::demand(app, month).await?;
        let (positions, events): (Vec<_>, Vec<_>) = events.into_iter().unzip();
        let rejected = store::append(&month, events, concern).await?;
        let of_call = |at: usize| positions.get(at).copied().unwrap_or_default();
        let rejected = rejected.into_iter().map(|one| (of_call(one.position), one.reason));
        Ok::<_, Error>(rejected.collect::<Vec<_>>())
    });
    Ok(try_join_all(each).await?.concat())
}

/// The path of an invalid field, and the reason.
type Fault = (&'static str, String);

impl EventInput {
    /// The checked event; `now` is the time of an event without one.
    fn valid(&self, now: i64, times: &Times) -> Result<Event<'_>, Fault> {
        use super::types::{check_site, check_text};
        let at = self.at.map_or(now, |at| at.0.timestamp_millis());
        times.check(at).map_err(|reason| ("at", reason.to_owned()))?;
        check_site(&self.site).map_err(|reason| ("site", reason))?;
        check_text("host", Some(&self.host))?;
        check_text("path", Some(&self.path))?;
        for (field, text) in [
            ("query", &self.query),
            ("method", &self.method),
            ("referrer", &self.referrer),
            ("userAgent", &self.user_agent),
            ("user", &self.user),
        ] {
            check_text(field, text.as_deref())?;
        }
        if self.status.is_some_and(|status| !(0..=999).contains(&status)) {
            return Err(("status", "must be between 0 and 999".into()));
        }
        if self.bytes.is_some_and(|bytes| bytes.0 < 0) {
            return Err(("bytes", "must not be below zero".into()));
        }
        Ok(Event {
            at,
            host: &self.host,
            site: &self.site,
            path: &self.path,
            query: self.query.as_deref(),
            method: self.method.as_deref(),
            status: self.status,
            bytes: self.bytes.map(|bytes| bytes.0),
            referrer: self.referrer.as_deref(),
            user_agent: self.user_agent.as_deref(),
            user: self.user.as_deref(),
        })
    }
}
