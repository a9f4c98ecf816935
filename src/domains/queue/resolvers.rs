//! Resolvers: they translate between GraphQL and the operations of the work queue.

use super::operations;
use crate::graphql::{prelude::*, subscription::Progress};

queries! {
    /// Query fields.
    pub struct QueueQuery;

    /// A job by its global id. Null if it doesn't exist or isn't visible to the caller. A job is visible to the
    /// producer who enqueued it and to the roles `worker` and `operator`. Completed jobs are removed after some time.
    job(
        context,
        #[graphql(desc = "Global id of the job.")] id: ID,
    ) by signed_in: Option<Job> = operations::job(cx(context), &id).await?.map(Job::from),

    /// Dead letters of a queue, the newest first.
    dead_jobs(
        context,
        #[graphql(desc = "Name of the queue.")] queue: String,
    ) by operator: Connection<Job> =
        operations::dead_jobs(cx(context), &queue, paging(context)?).await?,

    /// Numbers of jobs of a queue by state.
    queue_stats(
        context,
        #[graphql(desc = "Name of the queue.")] queue: String,
    ) by operator: QueueStats = operations::queue_stats(cx(context), queue).await?,

    /// The queues with their numbers of jobs by state, in the order of their names. A queue that has only completed jobs, or
    /// none, isn't listed, and neither are the queues of docgate itself.
    queues(context) by operator: Connection<QueueStats> =
        operations::queues(cx(context), paging(context)?).await?,
}

mutations! {
    /// Mutation fields.
    pub struct QueueMutation;

    /// Adds a job to a queue. With a unique key it is refused with `JobExists` while another live job of the queue has
    /// that key. It is refused with `QueueFull` while the caller, or all producers together, have too many unfinished
    /// jobs.
    enqueue(EnqueueInput) -> EnqueueResult by producer;

    /// Claims jobs of a queue or of several, at once: without a job to claim the answer is an empty list. Several queues
    /// take turns, so that none waits for another one to be empty. The subscription `jobAvailable` tells when to ask again.
    /// A worker has until the end of the lease to complete the job, to fail it or to renew the lease. Then others can
    /// claim it.
    claim_job(ClaimJobInput) -> ClaimJobResult by worker;

    /// Renews the lease of a claimed job. It is refused with `ClaimLost` once the lease has run out. Repeatable.
    heartbeat_job(HeartbeatJobInput) -> HeartbeatJobResult by worker;

    /// Completes a claimed job. It is refused with `ClaimLost` once the lease has run out. Repeatable: a repeat with the
    /// same token gets the same answer.
    complete_job(CompleteJobInput) -> CompleteJobResult by worker;

    /// Ends the attempt of a claimed job as failed. The job is tried again after a delay that doubles with each attempt,
    /// with a random part, and after its last attempt it is a dead letter. It is refused with `ClaimLost` once the lease
    /// has run out. Repeatable: a repeat with the same token changes nothing and returns the job.
    fail_job(FailJobInput) -> FailJobResult by worker;

    /// Makes dead letters of a queue available again, with all of their attempts. Without an idempotency key a repeat also
    /// makes those available that died since.
    retry_dead_jobs(RetryDeadJobsInput) -> RetryDeadJobsResult by operator;
}

subscriptions! {
    /// Subscription fields.
    pub struct QueueSubscription;

    /// Tells that a queue has jobs to claim: at once if it has some, and again after more of them have become
    /// available. Jobs that become available while the client doesn't read have one message. Another worker may be
    /// faster, so `claimJob` may find none.
    job_available(
        context,
        #[graphql(desc = "Name of the queue.")] queue: String,
    ) by worker: JobsAvailable =
        operations::job_available(cx(context), queue, Progress::of(context))?,
}
