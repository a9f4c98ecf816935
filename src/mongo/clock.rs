//! The primary's clock. Deadlines of flows are times of this clock.
//!
//! Replies that contain the server's time are remembered. Within [`FRESH`] after such a reply, the time is computed
//! from it: the time in the reply, plus the time that has passed since it arrived. Such a time is never ahead of the
//! server's, because the server read its clock before the reply arrived. It lags by the time that the reply took, which
//! only makes deadlines shorter. A new primary's clock can differ by the skew, as between two reads of the clock.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use mongodb::{
    Database,
    bson::{DateTime, Document, rawdoc},
    error::{Error as Fault, Result as DriverResult},
};
use tracing::Span;

use super::{
    batcher::{Batcher, Item, Source},
    driver::{malformed, record_batched},
    expression::millis,
    observe,
    sessions::Sessions,
};
use crate::{
    error::Error,
    locks::lock,
    metrics::{Metrics, database::Command},
    traces::{self, ItemSpan},
};

/// Command that returns the server's time.
const HELLO: &str = "hello";
/// Placeholder for the collection of a command without one, as in the server's own namespaces.
const NO_COLLECTION: &str = "$cmd";
/// How long a time is remembered.
const FRESH: Duration = Duration::from_secs(1);

/// The clock; clones share what is remembered.
#[derive(Clone)]
pub(super) struct Clock {
    hello: Arc<Batcher<Hello>>,
    last: Arc<Mutex<Last>>,
}

/// The last time of the server that arrived, and when it did. The machine's own time isn't part of it, so setting that
/// changes nothing.
#[derive(Default)]
struct Last(Option<(DateTime, Instant)>);

impl Last {
    /// The server's time at this instant or a little earlier, unless the last one arrived too long ago.
    fn time(&self, now: Instant) -> Option<DateTime> {
        let (time, arrived) = self.0?;
        let since = now.duration_since(arrived);
        (since < FRESH).then(|| DateTime::from_millis(time.timestamp_millis() + millis(since)))
    }

    /// A time that the server's clock has reached, however old the last one is. It goes on for [`FRESH`] only, because the
    /// two clocks don't run at exactly the same speed.
    fn reached(&self, now: Instant) -> Option<DateTime> {
        let (time, arrived) = self.0?;
        let since = now.duration_since(arrived).min(FRESH);
        Some(DateTime::from_millis(time.timestamp_millis() + millis(since)))
    }

    /// Remembers a time that arrives at this instant, unless the remembered one is ahead of it: its reply was quicker.
    fn observe(&mut self, time: DateTime, now: Instant) {
        if self.time(now).is_none_or(|last| last <= time) {
            self.0 = Some((time, now));
        }
    }
}

impl Clock {
    pub(super) fn new(database: &Database, sessions: &Arc<Sessions>, metrics: &Metrics) -> Self {
        let sent = metrics.commands.of(NO_COLLECTION, HELLO);
        let hello = Hello { database: database.clone(), sessions: Arc::clone(sessions), sent };
        let waiting = metrics.reads.waiting(NO_COLLECTION);
        Self { hello: Batcher::new(hello, waiting), last: Arc::default() }
    }

    /// Returns the server's time as it is or was within the last reply's latency.
    ///
    /// # Errors
    /// `Unavailable` if no time is remembered and none can be read.
    pub(super) async fn now(&self) -> Result<DateTime, Error> {
        let since = Instant::now();
        if let Some(time) = lock(&self.last).time(since) {
            return Ok(time);
        }
        let span = ItemSpan::new(NO_COLLECTION, HELLO);
        let answer = Arc::clone(&self.hello).submit((), &span).await;
        observe::record(self.hello.source().database.name(), HELLO, since);
        let now = answer??;
        self.observe(now);
        Ok(now)
    }

    /// Returns a time that the primary's clock has reached, which can lie far behind it. `None` if no reply had the time yet.
    pub(super) fn reached(&self) -> Option<DateTime> {
        lock(&self.last).reached(Instant::now())
    }

    /// Remembers a time from a reply that has just arrived, unless a fresh one is ahead of it.
    pub(super) fn observe(&self, time: DateTime) {
        let now = Instant::now();
        lock(&self.last).observe(time, now);
    }

    pub(super) fn send_overdue(&self) {
        self.hello.send_overdue();
    }
}

/// Reads of the clock, which share commands.
pub(super) struct Hello {
    database: Database,
    sessions: Arc<Sessions>,
    sent: Command,
}

impl Source for Hello {
    type Value = ();
    type Answer = DriverResult<DateTime>;

    async fn answer(&self, batch: Vec<Item<Self>>) {
        let since = Instant::now();
        let reply = self.sessions.run(&self.database, rawdoc! { "hello": 1 }).await;
        let fault = reply.as_ref().err().map(|fault: &Fault| Error::from(fault.clone()));
        record_batched(&self.sent, since, fault.as_ref());
        let read = |reply: Document| reply.get_datetime("localTime").copied();
        let now = reply.and_then(|reply| read(reply).map_err(|_| malformed("no localTime")));
        for Item { answer, .. } in batch {
            answer.send(now.clone());
        }
    }

    fn span(&self, traced: &[ItemSpan], count: usize) -> Span {
        let database = || self.database.name().to_owned();
        traces::shared_command(database, NO_COLLECTION, HELLO, traced, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> DateTime {
        DateTime::from_millis(millis)
    }

    #[test]
    fn a_time_is_remembered_for_a_second_and_goes_on_meanwhile() {
        let began = Instant::now();
        let after = |millis: u64| began + Duration::from_millis(millis);
        let mut last = Last::default();
        assert_eq!(last.time(began), None);
        last.observe(at(10_000), began);
        assert_eq!(last.time(began), Some(at(10_000)));
        assert_eq!(last.time(after(999)), Some(at(10_999)));
        assert_eq!(last.time(after(1_000)), None);
    }

    #[test]
    fn a_time_that_was_reached_stays_known() {
        let began = Instant::now();
        let after = |millis: u64| began + Duration::from_millis(millis);
        let mut last = Last::default();
        assert_eq!(last.reached(began), None);
        last.observe(at(10_000), began);
        assert_eq!(last.reached(after(999)), Some(at(10_999)));
        assert_eq!(last.reached(after(1_000)), Some(at(11_000)));
        assert_eq!(last.reached(after(60_000)), Some(at(11_000)));
    }

    #[test]
    fn remembered_times_never_go_backwards() {
        let began = Instant::now();
        let after = |millis: u64| began + Duration::from_millis(millis);
        let mut last = Last::default();
        last.observe(at(10_000), began);
        // The reply took longer, so its time is further behind.
        last.observe(at(10_300), after(500));
        assert_eq!(last.time(after(500)), Some(at(10_500)));
        // The reply was quicker.
        last.observe(at(10_700), after(600));
        assert_eq!(last.time(after(600)), Some(at(10_700)));
        assert_eq!(last.time(after(1_599)), Some(at(11_699)));
    }

    #[test]
    fn the_clock_of_another_primary_is_taken_once_the_last_time_is_old() {
        let began = Instant::now();
        let after = |millis: u64| began + Duration::from_millis(millis);
        let mut last = Last::default();
        last.observe(at(10_000), began);
        last.observe(at(9_000), after(900));
        assert_eq!(last.time(after(900)), Some(at(10_900)));
        last.observe(at(9_100), after(1_000));
        assert_eq!(last.time(after(1_000)), Some(at(9_100)));
    }
}
