//! Stored documents of the work queue.

use async_graphql::Enum;

use crate::mongo::prelude::*;

/// Milliseconds of waiting that one step of priority is worth.
const STEP_MILLIS: i64 = 60_000;

document! {
    /// One job.
    pub struct JobDocument {
        /// Derived from the idempotency key, or random.
        pub id as "_id": String,
        /// Name of the queue.
        pub queue: String,
        /// Text for the worker.
        pub payload: String,
        /// 0 to 9.
        pub priority: i32,
        /// State; the diagram is in the room's `mod.rs`.
        pub state: JobState,
        /// Place in the line of its queue. Only a READY job has one.
        pub ready?: Place,
        /// Server time from which the job becomes READY: the end of a delay or of a lease. Only DELAYED and CLAIMED jobs
        /// have one.
        pub due?: DateTime,
        /// The last claim. It remains after the claim has ended, so that a repeat of the worker's call is recognised.
        pub claim?: Claim,
        /// Number of claims so far.
        pub attempts: i32,
        /// Number of claims after which the job is DEAD.
        pub max_attempts: i32,
        /// Key that at most one live job of the queue has.
        pub unique_key?: String,
        /// Queue and unique key of a live job.
        pub unique?: String,
        /// Subject of the producer; none for jobs of docgate itself.
        pub by?: String,
        /// Digest of the input of the op that added it.
        pub input: String,
        /// Time at which it was added.
        pub at: DateTime,
        /// Server time at which it became DONE.
        pub done_at?: DateTime,
        /// Server time at which it became DEAD.
        pub dead_at?: DateTime,
        /// Why the last attempt failed.
        pub reason?: String,
        /// The last calls with an idempotency key that made it READY after it was DEAD.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub retries: Vec<Retry>,
        /// Version of the document's shape.
        pub v: Version<1>,
    } in "jobs" by unsharded(
        "claims read all jobs of a queue in order, and two of its unique indexes have different fields"
    ) {
        // Finished jobs are in none of the indexes that claims read or that a unique key is checked by.
        of("ready", "ready.queue ready.rank _id", "ready.queue", "claims; queues"),
        of("due", "queue due state", "due",
            "ends of delays and leases; the numbers of delayed and claimed jobs; queues"),
        unique_of("unique", "unique", "the live job of a unique key"),
        unique_of("slot", "claim.slot", "the jobs that a call has claimed"),
        of("dead", "queue deadAt _id", "deadAt", "dead letters; queues"),
        of("ready_by", "by ready.queue", "ready.queue",
            "the number of READY jobs of a producer, and of all of them"),
        of("due_by", "by due", "due",
            "the number of delayed and claimed jobs of a producer, and of all of them"),
        of("dead_by", "by deadAt _id", "deadAt",
            "the number of dead letters of a producer, and its oldest"),
        of("died", "deadAt by", "deadAt", "the oldest dead letters of all producers"),
        of_field("retried", "retries.op", "the jobs that a call made available again"),
        of_field("done", "doneAt", "the removal of finished jobs"),
    }

    /// The place of a READY job. It is a part of its own, so that the change stream tells the queue of a job that becomes
    /// READY.
    #[derive(PartialEq, Eq)]
    pub struct Place {
        /// Name of the queue.
        pub queue: String,
        /// Sort key within the queue; see [`rank`].
        pub rank: DateTime,
    }

    /// A worker's claim.
    pub struct Claim {
        /// Random; the worker proves by it that it has the claim.
        pub token: String,
        /// Subject of the worker.
        pub by: String,
        /// The op that claimed it, and a number: it lets a repeat find its jobs.
        pub slot?: String,
        /// Digest of the op's input.
        pub input?: String,
        /// How the worker ended it.
        pub end?: End,
    }

    /// The record of a call of `retryDeadJobs` on a job that it made READY.
    #[derive(PartialEq, Eq)]
    pub struct Retry {
        /// The op.
        pub op: String,
        /// Digest of the op's input.
        pub input: String,
        /// `deadAt` and `_id` of the last dead letter that the op looked at, in their order. A repeat chooses none after it.
        pub last_at: DateTime,
        /// See `last_at`.
        pub last_id: String,
    }

    /// What changes of many jobs need to know of each: a job without its payload and its claim.
    pub(super) struct JobHead {
        pub(super) id as "_id": String,
        pub(super) queue: String,
        pub(super) priority: i32,
        pub(super) at: DateTime,
        #[serde(default)]
        pub(super) due: Option<DateTime>,
        #[serde(default)]
        pub(super) unique_key: Option<String>,
        #[serde(default)]
        pub(super) by: Option<String>,
        #[serde(default)]
        pub(super) done_at: Option<DateTime>,
        #[serde(default)]
        pub(super) dead_at: Option<DateTime>,
        #[serde(default)]
        pub(super) retries: Vec<Retry>,
    } in JobDocument: [
        "_id", "queue", "priority", "at", "due", "uniqueKey", "by", "doneAt", "deadAt", "retries"
    ];
}

impl JobHead {
    /// The value of `unique` that it has while it is live, if it has a unique key.
    pub(super) fn unique(&self) -> Option<String> {
        self.unique_key.as_ref().map(|key| unique(&self.queue, key))
    }
}

/// How a worker ended its claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum End {
    /// The job was done.
    Done,
    /// The attempt failed.
    Failed,
}

/// Whether a job waits, is under way or has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Enum)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum JobState {
    /// The job can be claimed.
    Ready,
    /// The job can be claimed later: it was enqueued for a later time, or an attempt failed.
    Delayed,
    /// A worker has the job. Once its lease has run out, the job can be claimed again.
    Claimed,
    /// The job was completed.
    Done,
    /// The job isn't tried any more: it failed for good, or too often.
    Dead,
}

/// Sort key of a job that is READY since `since`: each step of priority counts like a minute of waiting. So a job of
/// low priority isn't overtaken for ever.
pub(super) fn rank(since: DateTime, priority: i32) -> DateTime {
    let ahead = i64::from(priority).saturating_mul(STEP_MILLIS);
    DateTime::from_millis(since.timestamp_millis().saturating_sub(ahead))
}

/// The value of `unique` of a live job. No name of a queue contains a space.
pub(super) fn unique(queue: &str, key: &str) -> String {
    format!("{queue} {key}")
}

impl JobDocument {
    /// Whether the token is that of the last claim.
    pub(super) fn has_token(&self, token: &str) -> bool {
        self.claim.as_ref().is_some_and(|claim| claim.token == token)
    }

    /// How the worker ended the last claim.
    pub(super) fn end(&self) -> Option<End> {
        self.claim.as_ref().and_then(|claim| claim.end)
    }
}
