//! GraphQL types of the work queue.

use async_graphql::{Enum, SimpleObject};

pub use super::documents::JobState;
use super::{
    documents::JobDocument,
    operations::{self, MAX_CLAIMED, MAX_LEASE, MAX_QUEUES, MAX_RETRIED, PAYLOAD, PRIORITY},
};
use crate::graphql::{prelude::*, scalars::DateTime};

object! {
    /// A job of the work queue.
    pub type Job = JobDocument as job {
        /// Global id of the job.
        pub id: ID = NodeKind::JOB.id(&job.id),
        /// Name of the job's queue.
        queue: &str = &job.queue,
        /// Text for the worker, such as JSON.
        payload: &str = &job.payload,
        /// Priority, 0 to 9.
        priority: i32 = job.priority,
        /// Whether the job waits, is under way or has ended.
        state: JobState = job.state,
        /// Number of times that the job was claimed. After `retryDeadJobs` it begins with 0 again.
        attempts: i32 = job.attempts,
        /// Number of claims after which a job that isn't completed is `DEAD`.
        max_attempts: i32 = job.max_attempts,
        /// Key that no other live job of the queue has; null if the job was enqueued without one.
        unique_key: Option<&str> = job.unique_key.as_deref(),
        /// Time at which the job was enqueued.
        enqueued_at: DateTime = job.at.into(),
        /// Time from which a `DELAYED` job can be claimed; null in other states.
        available_at: Option<DateTime> =
            job.due.filter(|_| job.state == JobState::Delayed).map(Into::into),
        /// Time at which the lease of a `CLAIMED` job runs out; null in other states.
        lease_ends_at: Option<DateTime> =
            job.due.filter(|_| job.state == JobState::Claimed).map(Into::into),
        /// Subject of the worker that has claimed the job; null unless it is `CLAIMED`.
        claimed_by: Option<ID> = {
            let claim = job.claim.as_ref().filter(|_| job.state == JobState::Claimed);
            claim.map(|claim| ID(claim.by.clone()))
        },
        /// Time at which the job was completed or became `DEAD`; null before.
        ended_at: Option<DateTime> = job.done_at.or(job.dead_at).map(Into::into),
        /// Why the last attempt failed; null if none did, or if the job was completed.
        failure_reason: Option<&str> = job.reason.as_deref(),
    }
}

/// A claimed job with the token of its claim.
#[derive(Debug, SimpleObject)]
pub struct ClaimedJob {
    /// What is to be done. The attempt that this claim began is counted.
    pub job: Job,
    /// Token of the claim, for `heartbeatJob`, `completeJob` and `failJob`.
    pub token: String,
}

/// Result of a successful `claimJob`.
#[derive(Debug, SimpleObject)]
pub struct ClaimedJobs {
    /// The claimed jobs, in the order of the queue; of several queues, one queue after the other. Empty if no job can be
    /// claimed at present.
    pub jobs: Vec<ClaimedJob>,
}

/// Result of a successful `completeJob`.
#[derive(Debug)]
pub struct CompletedJob {
    pub(super) id: String,
}

object! {
    /// Result of a successful `completeJob`.
    impl CompletedJob as completed {
        /// Global id of the job.
        job_id: ID = NodeKind::JOB.id(&completed.id),
        /// The job. Null if it has been removed since.
        job(context)?: Option<Job> = {
            let id = NodeKind::JOB.id(&completed.id);
            operations::job(cx(context), &id).await?.map(Job::from)
        },
    }
}

/// Result of a successful `retryDeadJobs`.
#[derive(Debug, SimpleObject)]
pub struct RetriedJobs {
    /// Number of jobs that can be claimed again. With a repeated idempotency key those of the first call are included.
    pub count: i32,
    /// Number of jobs that stay dead, because a live job has their unique key, and of those that another call was faster
    /// with. With `count` it tells how many of the oldest dead letters the call has looked at.
    pub skipped: i32,
}

/// Whose jobs a bound counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum QueueScope {
    /// Those of the caller.
    Producer,
    /// Those of all producers.
    All,
}

/// Numbers of a queue. Each is counted up to 100,000.
#[derive(Debug, SimpleObject)]
pub struct QueueStats {
    /// Name of the queue.
    pub queue: String,
    /// Number of jobs that can be claimed.
    pub ready: Long,
    /// Number of jobs that can be claimed later.
    pub delayed: Long,
    /// Number of jobs that workers have.
    pub claimed: Long,
    /// Number of dead letters.
    pub dead: Long,
}

/// A message that a queue has jobs to claim.
#[derive(Debug, SimpleObject)]
pub struct JobsAvailable {
    /// Name of the queue.
    pub queue: String,
}

/// Checks the name of a queue that clients use.
fn queue<T: AsRef<str>>(field: &str, name: &mut T) -> Result<(), InvalidInput> {
    operations::check_queue(field, name.as_ref())
}

input! {
    /// Input of `enqueue`.
    pub struct EnqueueInput {
        /// Name of the queue, 1 to 64 characters: lower-case letters, digits, `-`, `_` and `.`, beginning with a letter or
        /// a digit. It needn't exist before. Names that begin with `docgate.` are reserved.
        pub queue: String where queue,
        /// Text for the worker, such as JSON, at most 65,536 bytes in UTF-8.
        pub payload: String where bytes(PAYLOAD),
        /// Priority, 0 to 9. Default: 0. Each step counts like a minute of waiting.
        pub priority: Option<i32> where optional(within(PRIORITY)),
        /// Time before which the job isn't claimed. Default: now.
        pub run_at: Option<DateTime>,
        /// Number of attempts after which the job is a dead letter, 1 to 100. Default: 5.
        pub max_attempts: Option<i32> where optional(within(1..=100)),
        /// Key that at most one live job of the queue has, 1 to 128 characters. A job is live until it is completed or
        /// dead.
        pub unique_key: Option<String> where optional(verbatim(1..=128)),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key returns the job of the first call.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `claimJob`.
    pub struct ClaimJobInput {
        /// Name of the queue. Exactly one of `queue` and `queues` must be set.
        pub queue: Option<String> where optional(queue),
        /// Names of 1 to 16 queues instead of `queue`. They take turns: a claim of one job begins with the queue whose
        /// turn it is, and a claim of several jobs divides them among the queues that have jobs.
        pub queues: Option<Vec<String>> where optional(each(MAX_QUEUES, queue)),
        /// Maximum number of jobs, 1 to 100. Default: 1.
        pub max: Option<i32> where optional(within(1..=MAX_CLAIMED)),
        /// Length of the lease in seconds, 1 to 43,200. Default: 60. A job whose lease has run out can be claimed by
        /// others.
        pub lease_seconds: Option<i32> where optional(within(1..=MAX_LEASE)),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key returns the jobs that the first call claimed,
        /// unless all of their leases have run out.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `heartbeatJob`.
    pub struct HeartbeatJobInput {
        /// Global id of the job.
        pub job_id: ID where id(NodeKind::JOB),
        /// Token of the claim.
        pub token: String where verbatim(1..=128),
        /// Length of the lease from now on in seconds, 1 to 43,200. Default: 60.
        pub lease_seconds: Option<i32> where optional(within(1..=MAX_LEASE)),
    }

    /// Input of `completeJob`.
    pub struct CompleteJobInput {
        /// Global id of the job.
        pub job_id: ID where id(NodeKind::JOB),
        /// Token of the claim.
        pub token: String where verbatim(1..=128),
    }

    /// Input of `failJob`.
    pub struct FailJobInput {
        /// Global id of the job.
        pub job_id: ID where id(NodeKind::JOB),
        /// Token of the claim.
        pub token: String where verbatim(1..=128),
        /// Why the attempt failed, for operators, 1 to 1,000 characters.
        pub reason: String where text(1..=1_000),
        /// Whether the job may be tried again. Default: true. With false it is a dead letter at once.
        pub is_retryable: Option<bool>,
    }

    /// Input of `retryDeadJobs`.
    pub struct RetryDeadJobsInput {
        /// Name of the queue.
        pub queue: String where queue,
        /// Maximum number of jobs, 1 to 1,000, those that died first. Default: 1,000.
        pub max: Option<i32> where optional(within(1..=MAX_RETRIED)),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key makes only jobs available that the first call
        /// has chosen, and none twice.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }
}

result! {
    /// Result of `enqueue`: the job, or a refusal. `Conflict`: this `idempotencyKey` was used with another input.
    pub enum EnqueueResult:
        JobDocument => Job | JobExists | QueueFull | Conflict | InvalidInput;

    /// Result of `claimJob`: the claimed jobs, or a refusal. `Conflict`: this `idempotencyKey` was used with another
    /// input.
    pub enum ClaimJobResult:
        ClaimedJobs | Conflict | InvalidInput;

    /// Result of `heartbeatJob`: the job with its new lease, or a refusal.
    pub enum HeartbeatJobResult:
        JobDocument => Job | NotFound | ClaimLost | InvalidInput;

    /// Result of `completeJob`: the completed job, or a refusal.
    pub enum CompleteJobResult:
        CompletedJob | NotFound | ClaimLost | InvalidInput;

    /// Result of `failJob`: the job, or a refusal.
    pub enum FailJobResult:
        JobDocument => Job | NotFound | ClaimLost | InvalidInput;

    /// Result of `retryDeadJobs`: the number of jobs, or a refusal. `Conflict`: this `idempotencyKey` was used with another
    /// input.
    pub enum RetryDeadJobsResult:
        RetriedJobs | Conflict | InvalidInput;
}

refusal! {
    /// A live job of the queue has the unique key.
    struct JobExists as "JOB_EXISTS" {
        /// Global id of that job.
        pub job_id: ID,
    }

    /// There are as many unfinished jobs as the gateway permits. Nothing was added.
    struct QueueFull as "QUEUE_FULL" {
        /// The bound: the number of unfinished jobs that are permitted, in all queues together.
        pub limit: Long,
        /// Whose jobs it counts.
        pub scope: QueueScope,
    }

    /// The caller doesn't have the claim of the job: its lease has run out, it has ended, or the token is that of another
    /// claim.
    struct ClaimLost as "CLAIM_LOST" {
        /// Whether the job waits, has another claim or has ended.
        pub job_state: JobState,
    }
}

impl ClaimLost {
    /// The refusal for this job.
    pub(super) fn new(job: &JobDocument) -> Self {
        Self::because("the claim has ended; stop the work on this job", job.state)
    }
}

impl JobExists {
    /// The refusal because of this job.
    pub(super) fn new(job: &JobDocument) -> Self {
        Self::because(
            "an unfinished job of the queue has this uniqueKey",
            NodeKind::JOB.id(&job.id),
        )
    }
}
