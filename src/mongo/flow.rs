//! The parts of every flow over several documents: attempts with a deadline on the server's clock, and
//! idempotency keys. All flows have the same steps:
//!
//! 1. *reserve* what the flow needs, marked with its tag;
//! 2. *commit* by one guarded update of the flow's decider, which also writes its outbox;
//! 3. *apply* the entries of the outbox, each receiver remembering the tag in the same update;
//! 4. *settle*: note on the decider what was applied, and remove the marks when no late write can need them.
//!
//! An *abort* begins by marking the tag as void on the decider, guarded by the flow not being committed.

use std::time::{Duration, Instant};

use mongodb::bson::{Bson, DateTime, Document, doc};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    driver::decode,
    expression::{append, array, before, changed, choose, filter, literal, map, whole},
    loader::{Fields, Loader, Lookup, Timed},
};
use crate::error::Error;

/// The time limits of attempts, and the limits of op records; see [`Attempt`].
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Length of an attempt: how long it may write, from its first read on, on the server's clock.
    pub attempt: Duration,
    /// `maxTimeMS` of each command of an attempt.
    pub command: Duration,
    /// Largest difference between the clocks of the replica set's members.
    pub skew: Duration,
    /// How long applied idempotency keys are remembered.
    pub ops: Duration,
    /// Maximum number of op records on a decider.
    pub most_ops: usize,
}

impl Bounds {
    /// The same limits for a decider that holds up to `most` op records.
    #[must_use]
    pub fn remembering(self, most: usize) -> Self {
        Self { most_ops: most, ..self }
    }

    /// The grace period: the time after which no write of an attempt can still be applied.
    pub fn grace_period(&self) -> Duration {
        self.attempt + self.command + self.skew
    }

    /// Time in milliseconds that has to pass after a document was changed before a sweep may act on it: two
    /// grace periods. An attempt that changed it may have been started up to one attempt earlier, by a caller
    /// whose own reads are older still. In the first period every attempt ends that could read the old state.
    /// In the second every attempt ends that one of those could have begun.
    pub fn two_grace_periods_millis(&self) -> i64 {
        millis(self.grace_period() * 2)
    }

    /// Deadlines before the returned time have passed for every command of their attempt: the time limit of a
    /// command and the difference between the clocks are over as well.
    pub fn overdue_before(&self, now: DateTime) -> DateTime {
        let slack = millis(self.command + self.skew);
        DateTime::from_millis(now.timestamp_millis().saturating_sub(slack))
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// One execution of a flow by a first caller, a repeat or a sweep. Its deadline is on the server's clock and
/// counts from its first read. The deadline guards every reserve and every apply, so that a slow worker can't
/// write after its successors have begun.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    now: DateTime,
    deadline: DateTime,
    limit: Duration,
    since: Instant,
    length: Duration,
}

impl Attempt {
    /// Begins an attempt with its first read, and the server's time in the same reply. If there is no such
    /// document, a second command reads the time.
    pub(super) async fn open<T: DeserializeOwned>(
        bounds: Bounds,
        loader: &Loader,
        lookup: Lookup,
        id: &str,
    ) -> Result<(Self, Option<T>), Error> {
        let since = Instant::now();
        let timed = Lookup { fields: Fields::Timed, settled: true, ..lookup };
        if let Some(opened) = loader.read(timed, id).await? {
            let Timed { now, document } = decode(&opened)?;
            return Ok((Self::at(bounds, now, since), Some(document)));
        }
        Ok((Self::begin(bounds, loader).await?, None))
    }

    /// Begins an attempt that has nothing to read first.
    pub async fn begin(bounds: Bounds, loader: &Loader) -> Result<Self, Error> {
        let since = Instant::now();
        Ok(Self::at(bounds, loader.now().await?, since))
    }

    fn at(bounds: Bounds, now: DateTime, since: Instant) -> Self {
        let deadline = DateTime::from_millis(now.timestamp_millis() + millis(bounds.attempt));
        Self { now, deadline, limit: bounds.command, since, length: bounds.attempt }
    }

    /// The server's time at the attempt's first read.
    pub fn now(&self) -> DateTime {
        self.now
    }

    /// The deadline of the attempt's writes, on the server's clock.
    pub fn deadline(&self) -> DateTime {
        self.deadline
    }

    /// The guard of reserves and applies: the deadline hasn't passed.
    pub fn alive(&self) -> Document {
        before(self.deadline)
    }

    /// `maxTimeMS` of the attempt's commands.
    pub fn command_limit(&self) -> Duration {
        self.limit
    }

    /// Whether the attempt is over by the gateway's own clock. A refused write then tells nothing about its
    /// other guards.
    pub fn is_over(&self) -> bool {
        self.since.elapsed() >= self.length
    }

    /// The error of an attempt whose deadline passed before its work was done.
    pub fn overdue(&self) -> Error {
        Error::unavailable("the attempt's deadline passed")
    }
}

/// One call of a flow: the caller's idempotency key in its scope, and a digest of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// The idempotency key, keyed by its scope (a subject or a capability), so that no caller can ask for another's.
    pub id: String,
    /// Digest of the input. The same idempotency key with another input is a conflict.
    pub input: String,
}

/// The record of an op on its decider, in the array `ops`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpRecord {
    /// Tag of the reservations: the idempotency key, or the idempotency key and the try if each try reserves anew.
    pub tag: String,
    /// The op that was applied; absent if the tag is void.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Digest of its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Whether the tag was aborted: it can never be applied any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub void: bool,
    /// Server time of the write.
    pub at: DateTime,
    /// Server time of the note that another document remembers the op as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<DateTime>,
}

/// The state of an op on its decider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Neither applied nor aborted.
    New,
    /// Applied with the same input.
    Applied,
    /// Applied, but with another input.
    OtherInput,
    /// Aborted; it can't be applied any more.
    Void,
}

/// Default maximum number of op records on a decider. A decider that is full of records that it may not drop
/// answers `RATE_LIMITED`.
pub const OPS_CAP: usize = 300;

impl Op {
    /// The state of the op, or of its try with this tag, in a decider's `ops`.
    pub fn standing(&self, tag: &str, ops: &[OpRecord]) -> Standing {
        if let Some(record) = ops.iter().find(|record| record.id.as_ref() == Some(&self.id)) {
            return if record.input.as_ref() == Some(&self.input) {
                Standing::Applied
            } else {
                Standing::OtherInput
            };
        }
        if ops.iter().any(|record| record.void && record.tag == tag) {
            Standing::Void
        } else {
            Standing::New
        }
    }

    /// Guard of a commit: the op isn't applied, its tag isn't void, and there is room for its record.
    pub fn guard(&self, tag: &str, bounds: Bounds) -> Document {
        doc! {
            "ops.id": { "$ne": &self.id },
            "ops.tag": { "$ne": tag },
            "$expr": { "$lt": [{ "$size": held(bounds) }, most_ops(bounds)] },
        }
    }

    /// Expression of `ops` with this op as applied and without expired records, for a pipeline update.
    pub fn applied(&self, tag: &str, bounds: Bounds) -> Bson {
        let record = whole(doc! {
            "tag": literal(tag), "id": literal(&self.id), "input": literal(&self.input), "at": "$$NOW",
        });
        append(held(bounds), vec![record])
    }
}

/// Guard of an abort: the tag is neither applied nor void already.
pub fn void_guard(tag: &str) -> Document {
    doc! { "ops.tag": { "$ne": tag } }
}

/// Expression of `ops` with this tag as void, for a pipeline update. It is never refused for lack of room: an
/// abort must always be possible.
pub fn voided(tag: &str, bounds: Bounds) -> Bson {
    let record = whole(doc! { "tag": literal(tag), "void": true, "at": "$$NOW" });
    append(held(bounds), vec![record])
}

/// Expression of `ops` with the note that another document remembers these ops, for a pipeline update. The
/// note is written once a majority holds that document. An attempt that looked for the document before is
/// past its deadline one grace period later. The record isn't needed here any more then.
pub fn kept(ids: &[String]) -> Bson {
    let noted = changed(doc! { "kept": { "$ifNull": ["$$this.kept", "$$NOW"] } });
    let is_one = doc! { "$in": ["$$this.id", literal(ids.to_vec())] };
    map(array("ops"), choose(is_one, noted, "$$this"))
}

/// Whether the array is full of records that the decider may not drop.
pub fn is_full(ops: &[OpRecord], now: DateTime, bounds: Bounds) -> bool {
    let since = |ago: Duration| DateTime::from_millis(now.timestamp_millis() - millis(ago));
    let (young, moved) = (since(bounds.ops), since(bounds.grace_period()));
    let is_held =
        |record: &&OpRecord| record.at > young && record.kept.is_none_or(|kept| kept > moved);
    ops.iter().filter(is_held).count() >= bounds.most_ops
}

/// The records that the decider may not drop: they are recent, and no other document has remembered them for
/// longer than one grace period.
fn held(bounds: Bounds) -> Bson {
    let since = |ago: Duration| doc! { "$subtract": ["$$NOW", millis(ago)] };
    let is_young = doc! { "$gt": ["$$this.at", since(bounds.ops)] };
    let kept = doc! { "$ifNull": ["$$this.kept", "$$NOW"] };
    let is_needed = doc! { "$gt": [kept, since(bounds.grace_period())] };
    filter(array("ops"), doc! { "$and": [is_young, is_needed] })
}

fn most_ops(bounds: Bounds) -> i64 {
    i64::try_from(bounds.most_ops).unwrap_or(i64::MAX)
}
