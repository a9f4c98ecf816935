//! Idempotency keys: the record of an op on its decider.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use mongodb::bson::{Bson, DateTime, Document, doc};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{Attempt, Bounds, Change};
use crate::{
    error::Error,
    mongo::{
        Collection, Stored,
        expression::{
            append, array, both, changed, choose, count, filter, literal, map, millis, whole,
        },
        stored::document,
    },
};

/// A requested change: the caller's idempotency key in its scope, and a digest of the input. All calls with the same
/// idempotency key and input are the same op.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// The idempotency key, hashed with its scope (a subject or a capability), so that no caller can use the key of
    /// another.
    pub id: String,
    /// Digest of the input. The same idempotency key with another input is a conflict.
    pub input: String,
}

document! {
    /// The record of an op on its decider, in the array `ops`.
    #[derive(PartialEq, Eq)]
    pub struct OpRecord {
        /// Tag of the reservations: [`Op::tag`], or the op alone if it reserves nothing.
        pub tag: String,
        /// The op that was committed; absent if the tag is void.
        pub id?: String,
        /// Digest of its input.
        pub input?: String,
        /// Whether the tag was aborted: it can never be committed any more.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub void: bool,
        /// Server time of the write.
        pub at: DateTime,
        /// Server time at which it was recorded that another document remembers the op as well.
        pub kept?: DateTime,
    }
}

/// The op was made before with another input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherInput;

/// A document that decides ops and remembers them.
pub trait Decider: Stored {
    /// Its op records.
    fn ops(&self) -> &[OpRecord];
}

/// Default maximum number of op records on a decider. If it holds that many records which it may not drop, an
/// operation on it fails with `RATE_LIMITED`.
pub const OPS_CAP: usize = 300;

impl Op {
    /// Digest of an input. It is only compared with digests of the same operation.
    pub fn digest(input: &impl Serialize) -> String {
        let json = serde_json::to_vec(input).unwrap_or_default();
        BASE64.encode(&Sha256::digest(json)[..12])
    }

    /// Whether the op was committed, according to the records of its decider.
    ///
    /// # Errors
    /// The idempotency key was committed with another input.
    pub fn is_committed(&self, ops: &[OpRecord]) -> Result<bool, OtherInput> {
        match ops.iter().find(|record| record.id.as_ref() == Some(&self.id)) {
            Some(record) if record.input.as_ref() == Some(&self.input) => Ok(true),
            Some(_) => Err(OtherInput),
            None => Ok(false),
        }
    }

    /// Checks the input of what the op made before.
    ///
    /// # Errors
    /// It was made with another input.
    pub fn demand_same(&self, input: &str) -> Result<(), OtherInput> {
        if input == self.input { Ok(()) } else { Err(OtherInput) }
    }

    /// Tag of the next try: `{id}/{input}/{number}`, where the number is one more than that of the last try that
    /// was aborted. The repeat of an interrupted try has the same tag and finds its reservation. A call with the
    /// same idempotency key and another input has another tag: it must not commit what the first one reserved.
    pub fn tag(&self, ops: &[OpRecord]) -> String {
        let prefix = format!("{}/{}/", self.id, self.input);
        let number = |record: &OpRecord| {
            let number = record.tag.strip_prefix(&prefix)?.split('/').next()?;
            number.parse::<u64>().ok().filter(|_| record.void)
        };
        let next = ops.iter().filter_map(number).max().map_or(0, |last| last + 1);
        format!("{prefix}{next}")
    }

    /// Its record as committed under this tag, an expression.
    fn record(&self, tag: &str) -> Bson {
        whole(doc! {
            "tag": literal(tag), "id": literal(&self.id), "input": literal(&self.input), "at": "$$NOW",
        })
    }
}

/// Guard of a commit of ops with their tags: none of the ops is committed, none of the tags is recorded, and there is room
/// for all records.
pub(super) fn guard(ops: &[(&Op, &str)], bounds: Bounds) -> Document {
    let most = count(bounds.most_ops) - count(ops.len());
    doc! {
        "ops.id": none_of(ops.iter().map(|(op, _)| op.id.as_str()).collect()),
        "ops.tag": none_of(ops.iter().map(|(_, tag)| *tag).collect()),
        "$expr": { "$lte": [{ "$size": needed(bounds) }, most] },
    }
}

fn none_of(values: Vec<&str>) -> Document {
    if let [value] = values.as_slice() {
        doc! { "$ne": *value }
    } else {
        doc! { "$nin": values }
    }
}

/// Expression of `ops` with these ops as committed under their tags and without expired records, for a pipeline update.
pub(super) fn committed(ops: &[(&Op, &str)], bounds: Bounds) -> Bson {
    append(needed(bounds), ops.iter().map(|(op, tag)| op.record(tag)).collect())
}

/// One try of an op within an attempt.
#[derive(Debug, Clone, Copy)]
pub struct Try<'a> {
    /// The op.
    pub op: &'a Op,
    /// Tag of the try's reservations.
    pub tag: &'a str,
    /// The attempt.
    pub attempt: &'a Attempt,
    /// Limits of the decider's op records.
    pub bounds: Bounds,
}

impl<T: Decider> Collection<T> {
    /// Commits a change for an op. The same update adds the op's record. Its guard includes that the op isn't
    /// committed and that the attempt's deadline hasn't passed. If the commit is refused and there are
    /// reservations under the tag, the tag is aborted and `undo` releases them. `None` means that the decider
    /// has to be read again.
    ///
    /// # Errors
    /// The outcome is unknown. The sweep aborts the tag if it wasn't committed.
    pub async fn commit(
        &self,
        Try { op, tag, attempt, bounds }: Try<'_>,
        change: Change<impl Sized>,
        undo: Option<impl Future<Output = Result<(), Error>>>,
    ) -> Result<Option<T>, Error> {
        let (id, commit) = (change.id.clone(), change.committing(op, tag, bounds));
        if let Some(after) = self.change(commit).within(attempt).then_read().await? {
            return Ok(Some(after));
        }
        if let Some(undo) = undo
            && self.abort(&id, tag, bounds).await?
        {
            undo.await?;
        }
        Ok(None)
    }

    /// Aborts a tag on its decider, so that it can't be committed any more. Returns `false` if it was committed
    /// before. Its reservations then belong to the op.
    ///
    /// # Errors
    /// The outcome is unknown.
    pub async fn abort(&self, id: &str, tag: &str, bounds: Bounds) -> Result<bool, Error> {
        let update = doc! { "$set": { "ops": voided(tag, bounds) } };
        // The tag is neither committed nor void already.
        let guard = both(doc! { "_id": id }, doc! { "ops.tag": { "$ne": tag } });
        if self.guarded(guard, vec![update]).held().await? {
            return Ok(true);
        }
        let is_committed = |record: &OpRecord| record.tag == tag && !record.void;
        let decider = self.get_settled(id).await?;
        Ok(!decider.is_some_and(|decider| decider.ops().iter().any(is_committed)))
    }
}

/// Expression of `ops` with this tag as void, for a pipeline update. It ignores the maximum number of records,
/// because an abort must always be possible.
fn voided(tag: &str, bounds: Bounds) -> Bson {
    let record = whole(doc! { "tag": literal(tag), "void": true, "at": "$$NOW" });
    append(needed(bounds), vec![record])
}

/// Expression of `ops` that records that another document remembers these ops, for a pipeline update. It is used
/// after a majority holds that document. An attempt that read the document earlier is past its deadline one grace
/// period later. From then on the decider may drop the records.
pub fn kept(ids: &[String]) -> Bson {
    let kept = changed(doc! { "kept": { "$ifNull": ["$$this.kept", "$$NOW"] } });
    let is_one = doc! { "$in": ["$$this.id", literal(ids.to_vec())] };
    map(array("ops"), choose(is_one, kept, "$$this"))
}

impl Bounds {
    /// Checks that the decider with these records has room for one more.
    ///
    /// # Errors
    /// `RateLimited`: it is full of records that it may not drop. The message is `reason`, such as "too many changes of
    /// this cart", and the time after which it may drop enough of them.
    pub fn demand_room(
        self,
        ops: &[OpRecord],
        attempt: &Attempt,
        reason: &'static str,
    ) -> Result<(), Error> {
        let now = attempt.now().timestamp_millis();
        let needed_until = |record: &OpRecord| {
            let until = record.at.timestamp_millis().saturating_add(millis(self.ops));
            let kept =
                record.kept.map(|kept| kept.timestamp_millis() + millis(self.grace_period()));
            kept.map_or(until, |kept| kept.min(until))
        };
        let mut needed: Vec<i64> =
            ops.iter().map(needed_until).filter(|until| *until > now).collect();
        let Some(surplus) = needed.len().checked_sub(self.most_ops) else { return Ok(()) };
        needed.sort_unstable();
        let wait = needed.get(surplus).map_or(0, |until| until - now);
        Err(Error::rate_limited_for(reason, wait))
    }
}

/// Expression of the records that the decider may not drop: they are recent, and no other document has remembered
/// them for longer than one grace period.
fn needed(bounds: Bounds) -> Bson {
    let since = |ago: Duration| doc! { "$subtract": ["$$NOW", millis(ago)] };
    let is_young = doc! { "$gt": ["$$this.at", since(bounds.ops)] };
    let kept = doc! { "$ifNull": ["$$this.kept", "$$NOW"] };
    let is_needed = doc! { "$gt": [kept, since(bounds.grace_period())] };
    filter(array("ops"), doc! { "$and": [is_young, is_needed] })
}
