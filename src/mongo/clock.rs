//! The primary's clock. Deadlines of flows are times of this clock.
//!
//! Replies that contain the server's time are remembered. Within [`FRESH`] the time is computed from the last one:
//! its time plus what has passed since it arrived. Such a time is never ahead of the server's, because the server read
//! its clock before the reply arrived. It lags by the time that the reply took, which only makes deadlines shorter. A
//! new primary's clock can differ by the skew, as between two reads of the clock.

use std::{
    sync::{Arc, Mutex, PoisonError},
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
    last: Arc<Mutex<Option<Reading>>>,
}

/// A time of the server.
#[derive(Clone, Copy)]
struct Reading {
    time: DateTime,
    /// When it arrived.
    at: Instant,
}

impl Reading {
    fn is_fresh(&self) -> bool {
        self.at.elapsed() < FRESH
    }

    /// The server's time now, or a little earlier.
    fn now(&self) -> DateTime {
        DateTime::from_millis(self.time.timestamp_millis() + millis(self.at.elapsed()))
    }
}

impl Clock {
    pub(super) fn new(database: &Database, sessions: &Arc<Sessions>, metrics: &Metrics) -> Self {
        let sent = metrics.commands().of(NO_COLLECTION, HELLO);
        let hello = Hello { database: database.clone(), sessions: Arc::clone(sessions), sent };
        let waiting = metrics.reads().waiting(NO_COLLECTION);
        Self { hello: Batcher::new(hello, waiting), last: Arc::default() }
    }

    /// Returns the server's time as it is or was within the last reply's latency.
    ///
    /// # Errors
    /// `Unavailable` if no time is remembered and none can be read.
    pub(super) async fn now(&self) -> Result<DateTime, Error> {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reading) = last.filter(Reading::is_fresh) {
            return Ok(reading.now());
        }
        let since = Instant::now();
        let span = ItemSpan::new(NO_COLLECTION, HELLO);
        let answer = Arc::clone(&self.hello).submit((), &span).await;
        observe::record(self.hello.source().database.name(), HELLO, since);
        let now = answer??;
        self.observe(now);
        Ok(now)
    }

    /// Remembers a time from a reply that has just arrived, unless a fresh one is ahead of it: its reply was quicker.
    pub(super) fn observe(&self, time: DateTime) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|last| !last.is_fresh() || last.now() <= time) {
            *last = Some(Reading { time, at: Instant::now() });
        }
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
            let _gone = answer.send(now.clone());
        }
    }

    fn span(&self, traced: &[ItemSpan], count: usize) -> Span {
        let database = || self.database.name().to_owned();
        traces::shared_command(database, NO_COLLECTION, HELLO, traced, count)
    }
}
