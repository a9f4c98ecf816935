//! What every flow over several documents is made of: runs with a deadline on the server's clock,
//! and op ids. The shape of a flow is always the same:
//!
//! 1. *take* what must be had first, tagged with the flow's id;
//! 2. *decide* by one guarded update of the flow's decider, which also writes its outbox;
//! 3. *give* what the outbox says, each receiver remembering the flow's id in the same update;
//! 4. *settle*: note on the decider what was given, and retire the ids one bound later.
//!
//! Undoing starts with `void` on the decider, guarded by its not having decided.

use std::time::{Duration, Instant};

use mongodb::bson::{Bson, DateTime, Document, doc};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    driver::decode,
    expression::{append, array, before, changed, choose, filter, literal, map, whole},
    readers::{Fields, Lookup, Readers, Timed},
};
use crate::error::Error;

/// The bounds within which a run writes; see [`Run`].
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// How long a run may write, from its first read on, on the server's clock.
    pub run: Duration,
    /// `maxTimeMS` of each of its commands.
    pub command: Duration,
    /// Largest difference between the clocks of the replica set's members.
    pub skew: Duration,
    /// How long applied op ids are remembered.
    pub ops: Duration,
    /// How many records of ops a decider holds at the most.
    pub most_ops: usize,
}

impl Bounds {
    /// The same bounds for a decider that holds up to `most` records of ops.
    #[must_use]
    pub fn remembering(self, most: usize) -> Self {
        Self { most_ops: most, ..self }
    }

    /// One bound: past it nothing can be applied any more that a run began before.
    pub fn one(&self) -> Duration {
        self.run + self.command + self.skew
    }

    /// How long after a document was touched a sweep may act on it, in milliseconds. A run that
    /// touched it may have been started up to one run earlier by a caller whose own reads are older
    /// still, so it is two bounds: in the first every run that could read the old state ends, in
    /// the second every run that one of those could have begun to answer.
    pub fn quiet_millis(&self) -> i64 {
        millis(self.one() * 2)
    }

    /// Deadlines before this moment are past wherever a command of their run may still be: the time
    /// that it may take and the difference of clocks are over as well.
    pub fn overdue_before(&self, now: DateTime) -> DateTime {
        let slack = millis(self.command + self.skew);
        DateTime::from_millis(now.timestamp_millis().saturating_sub(slack))
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// One run of a flow: a first caller's, a repeat's or a sweep's. Its deadline is in server time and
/// counts from its first read; all its takes and gives are guarded by it, so that a worker that
/// was slow can't write after its successors have begun.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    now: DateTime,
    deadline: DateTime,
    limit: Duration,
    since: Instant,
    length: Duration,
}

impl Run {
    /// Opens a run with its first read, and the server's time in the same answer.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub(super) async fn open<T: DeserializeOwned>(
        bounds: Bounds,
        readers: &Readers,
        lookup: Lookup,
        id: &str,
    ) -> Result<(Self, Option<T>), Error> {
        let since = Instant::now();
        let timed = Lookup { fields: Fields::Timed, settled: true, ..lookup };
        if let Some(opened) = readers.read(timed, id).await? {
            let Timed { now, document } = decode(&opened)?;
            return Ok((Self::at(bounds, now, since), Some(document)));
        }
        Ok((Self::begin(bounds, readers).await?, None))
    }

    /// Begins a run where there is nothing to read first.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn begin(bounds: Bounds, readers: &Readers) -> Result<Self, Error> {
        let since = Instant::now();
        Ok(Self::at(bounds, readers.now().await?, since))
    }

    fn at(bounds: Bounds, now: DateTime, since: Instant) -> Self {
        let deadline = DateTime::from_millis(now.timestamp_millis() + millis(bounds.run));
        Self { now, deadline, limit: bounds.command, since, length: bounds.run }
    }

    /// The server's time at the run's first read.
    pub fn now(&self) -> DateTime {
        self.now
    }

    /// Until when, on the server's clock, the run's writes are applied.
    pub fn deadline(&self) -> DateTime {
        self.deadline
    }

    /// The guard of takes and gives.
    pub fn alive(&self) -> Document {
        before(self.deadline)
    }

    /// `maxTimeMS` of the run's commands.
    pub fn command_limit(&self) -> Duration {
        self.limit
    }

    /// Whether the run's time is over by the gateway's own clock: then a refused write doesn't tell
    /// anything about its other guards.
    pub fn is_over(&self) -> bool {
        self.since.elapsed() >= self.length
    }

    /// The error of a run that came to its end before its work did.
    pub fn overdue(&self) -> Error {
        Error::unavailable("the run's deadline passed")
    }
}

/// One call of a flow: the caller's idempotency key, scoped, and a digest of what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// The op id, keyed by its scope (a subject or a capability): nobody can ask for another's.
    pub id: String,
    /// Digest of the input: the same op id with another input is a conflict.
    pub input: String,
}

/// What a decider remembers of an op, in its array `ops`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpRecord {
    /// Tag of the takes: the op id, or op id and attempt where each attempt takes anew.
    pub tag: String,
    /// The op that was applied; absent on a void.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Digest of its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Set where the tag was given up: it can never be applied any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub void: bool,
    /// Server time of the write.
    pub at: DateTime,
    /// Server time of the note that another document remembers the op as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<DateTime>,
}

/// How an op stands with its decider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Neither applied nor given up.
    New,
    /// Applied with the same input.
    Applied,
    /// Applied, but with another input.
    OtherInput,
    /// Given up; it can't be applied any more.
    Void,
}

/// Records of ops that a decider holds at the most where its room says nothing else. A decider that
/// is full of records that it may not drop answers `RATE_LIMITED`.
pub const OPS_CAP: usize = 300;

impl Op {
    /// How the op, or this attempt of it, stands in a decider's `ops`.
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

    /// Guard of a decision: the op is not applied, this tag of it isn't given up, and there is room
    /// to remember it.
    pub fn guard(&self, tag: &str, bounds: Bounds) -> Document {
        doc! {
            "ops.id": { "$ne": &self.id },
            "ops.tag": { "$ne": tag },
            "$expr": { "$lt": [{ "$size": held(bounds) }, most_ops(bounds)] },
        }
    }

    /// Expression of `ops` with this op applied and forgotten ones gone, for a pipeline update.
    pub fn applied(&self, tag: &str, bounds: Bounds) -> Bson {
        let record = whole(doc! {
            "tag": literal(tag), "id": literal(&self.id), "input": literal(&self.input), "at": "$$NOW",
        });
        append(held(bounds), vec![record])
    }
}

/// Guard of giving a tag up: it isn't applied (nor given up already).
pub fn void_guard(tag: &str) -> Document {
    doc! { "ops.tag": { "$ne": tag } }
}

/// Expression of `ops` with this tag given up, for a pipeline update. It is never refused for want
/// of room: an undo must always be possible.
pub fn voided(tag: &str, bounds: Bounds) -> Bson {
    let record = whole(doc! { "tag": literal(tag), "void": true, "at": "$$NOW" });
    append(held(bounds), vec![record])
}

/// Expression of `ops` with the note that another document remembers these ops, for a pipeline
/// update. The note is sent once a majority holds that document. A run that looked for the document
/// before is past its deadline one bound later, and then the record isn't needed here any more.
pub fn kept(ids: &[String]) -> Bson {
    let noted = changed(doc! { "kept": { "$ifNull": ["$$this.kept", "$$NOW"] } });
    let is_one = doc! { "$in": ["$$this.id", literal(ids.to_vec())] };
    map(array("ops"), choose(is_one, noted, "$$this"))
}

/// Whether the array is full of ops that the decider may not drop.
pub fn is_full(ops: &[OpRecord], now: DateTime, bounds: Bounds) -> bool {
    let since = |ago: Duration| DateTime::from_millis(now.timestamp_millis() - millis(ago));
    let (young, moved) = (since(bounds.ops), since(bounds.one()));
    let is_held =
        |record: &&OpRecord| record.at > young && record.kept.is_none_or(|kept| kept > moved);
    ops.iter().filter(is_held).count() >= bounds.most_ops
}

/// The ops that the decider may not drop: they are young, and nothing else has remembered them for
/// longer than one bound.
fn held(bounds: Bounds) -> Bson {
    let since = |ago: Duration| doc! { "$subtract": ["$$NOW", millis(ago)] };
    let is_young = doc! { "$gt": ["$$this.at", since(bounds.ops)] };
    let kept = doc! { "$ifNull": ["$$this.kept", "$$NOW"] };
    let is_needed = doc! { "$gt": [kept, since(bounds.one())] };
    filter(array("ops"), doc! { "$and": [is_young, is_needed] })
}

fn most_ops(bounds: Bounds) -> i64 {
    i64::try_from(bounds.most_ops).unwrap_or(i64::MAX)
}
