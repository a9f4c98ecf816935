//! Attempts: the executions of a flow, each with a deadline on the server's clock.

use std::time::{Duration, Instant};

use mongodb::bson::{DateTime, Document};

use crate::{
    error::Error,
    mongo::{
        Collection, Loader, Stored,
        collection::Timed,
        expression::{before, both, millis},
        guarded::Guarded,
    },
};

/// The time limits of attempts, and the limits of op records; see [`Attempt`].
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Length of an attempt: how long it may write, from its first read on, on the server's clock.
    pub attempt: Duration,
    /// `maxTimeMS` of each command of an attempt.
    pub command: Duration,
    /// Largest difference between the clocks of the replica set's members.
    pub skew: Duration,
    /// How long the idempotency keys of committed ops are remembered.
    pub ops: Duration,
    /// Maximum number of op records on a decider.
    pub most_ops: usize,
}

impl Bounds {
    /// The same limits for a decider that holds up to `max` op records.
    #[must_use]
    pub fn remembering(self, max: usize) -> Self {
        Self { most_ops: max, ..self }
    }

    /// The grace period: the time after which no write of an attempt can still be applied.
    pub fn grace_period(&self) -> Duration {
        self.attempt + self.slack()
    }

    /// Two grace periods: a sweep may act on a document only if the last change of the document is longer ago. An
    /// attempt that could read the old state ends within the first period. An attempt that one of these attempts
    /// could have caused ends within the second.
    pub fn two_grace_periods(&self) -> Duration {
        self.grace_period() * 2
    }

    /// How long after its deadline a command of an attempt can still be applied.
    pub fn slack(&self) -> Duration {
        self.command + self.skew
    }
}

/// The time this long before `moment`.
pub fn earlier(moment: DateTime, ago: Duration) -> DateTime {
    DateTime::from_millis(moment.timestamp_millis().saturating_sub(millis(ago)))
}

/// The time this long after `moment`.
pub fn later(moment: DateTime, after: Duration) -> DateTime {
    DateTime::from_millis(moment.timestamp_millis().saturating_add(millis(after)))
}

/// One execution of a flow by a first caller, a repeat or a sweep. Its deadline is on the server's clock and
/// counts from its first read. The deadline is part of the guard of every reserve, commit and apply, so that a
/// slow attempt can't write after the next one has begun.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    now: DateTime,
    since: Instant,
    bounds: Bounds,
}

impl Attempt {
    /// Begins an attempt without a first read of a document.
    pub async fn begin(bounds: Bounds, loader: &Loader) -> Result<Self, Error> {
        let since = Instant::now();
        Ok(Self { now: loader.now().await?, since, bounds })
    }

    /// The server's time at the attempt's first read.
    pub fn now(&self) -> DateTime {
        self.now
    }

    /// The server's time now, or a little earlier.
    pub fn clock(&self) -> DateTime {
        later(self.now, self.since.elapsed())
    }

    /// The deadline of the attempt's writes, on the server's clock.
    pub fn deadline(&self) -> DateTime {
        later(self.now, self.bounds.attempt)
    }

    /// Whether the deadline of another attempt has passed for so long that none of its commands can still be
    /// applied.
    pub fn is_overdue(&self, deadline: DateTime) -> bool {
        deadline < earlier(self.now, self.bounds.slack())
    }

    /// The guard of reserves, commits and applies: the deadline hasn't passed.
    pub fn alive(&self) -> Document {
        before(self.deadline())
    }

    /// `maxTimeMS` of the attempt's commands.
    pub fn command_limit(&self) -> Duration {
        self.bounds.command
    }

    /// Whether the attempt is over by the gateway's own clock. The reason of a refused write can then be the
    /// deadline.
    pub fn is_over(&self) -> bool {
        self.since.elapsed() >= self.bounds.attempt
    }

    /// Whether half of the attempt is over by the gateway's own clock.
    pub fn is_half_over(&self) -> bool {
        self.since.elapsed() >= self.bounds.attempt / 2
    }

    /// The error of an attempt whose deadline passed before its work was done.
    pub fn overdue(&self) -> Error {
        Error::unavailable("the attempt's deadline passed")
    }
}

impl<T: Stored> Collection<T> {
    /// Begins an attempt with its first read: the document with this `_id`, with read concern `majority`, and
    /// the server's time in the same reply. If there is no such document, the time may need a second command.
    pub async fn begin_with(
        &self,
        bounds: Bounds,
        id: &str,
    ) -> Result<(Attempt, Option<T>), Error> {
        let since = Instant::now();
        if let Some(Timed { now, document }) = self.get_timed_settled(id).await? {
            return Ok((Attempt { now, since, bounds }, Some(document)));
        }
        Ok((self.begin(bounds).await?, None))
    }

    /// Begins an attempt without a first read of a document.
    pub async fn begin(&self, bounds: Bounds) -> Result<Attempt, Error> {
        Attempt::begin(bounds, self.loader()).await
    }

    /// Applies many guarded updates by few commands before the attempt's deadline, each to the one document
    /// that its filter selects. Returns whether all guards held, but not which of them didn't. This is for
    /// the apply step of flows, which applies the updates one by one if some of them were refused.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the updates may have been applied.
    pub async fn update_each(
        &self,
        updates: Vec<(Document, Vec<Document>)>,
        attempt: &Attempt,
    ) -> Result<bool, Error> {
        let in_time = |(filter, update)| (both(filter, attempt.alive()), update);
        let updates = updates.into_iter().map(in_time).collect();
        self.update_all(updates, attempt.command_limit()).await
    }
}

impl<T: Stored> Guarded<T> {
    /// Applies the write only before the attempt's deadline on the server's clock. This is for every reserve,
    /// commit and apply.
    pub fn within(self, attempt: &Attempt) -> Self {
        self.also(attempt.alive(), attempt.command_limit())
    }
}
