//! The work queue: producers enqueue jobs, and workers claim, do and complete them.
//!
//! # States
//!
//! ```text
//!   enqueue ──▶ READY ──claim──▶ CLAIMED ──complete──▶ DONE ──▶ (removed)
//!      │          ▲                 │ │
//!      └▶ DELAYED ┘◀── lease ended ─┘ ├─fail─▶ DELAYED
//!                                     └─fail, or lease ended, at the last attempt ─▶ DEAD ──retry──▶ READY
//! ```
//!
//! Each change is one guarded update of the job's document. There is no flow over several documents.
//!
//! - A READY job has a place in the line of its queue, `ready {queue, rank}`. The rank is the time at which it became
//!   READY, minus one minute for each step of priority. So jobs of a higher priority overtake a job for a limited time only.
//! - A DELAYED or CLAIMED job has `due`, the time from which it becomes READY. A pass over the jobs whose time has come
//!   (`operations::promote`) makes them READY. Claims do that for their queue, and so does the sweep.
//! - A claim has a random token. Completing, failing and renewing a claim are guarded by the token and by the lease not
//!   having run out, on the server's clock. So a worker that lost its claim changes nothing. The token also makes these
//!   calls repeatable: the job keeps its last claim, with the way in which the worker ended it.
//! - Claims of one queue that arrive at a gateway while a claim is under way share its commands: one read of the first
//!   jobs, and one command with a guarded update for each of them (`operations::line`).
//! - The lease limits the time of a claim, so no write carries the deadline of an attempt. The lease is counted from the
//!   server's time before the claim. A claim that MongoDB applies late therefore has less time left.
//! - The number of unfinished jobs has a bound for each producer and one for all. A gateway estimates the number
//!   (`operations::bounds`). The number of dead letters has bounds too: the sweep removes the oldest ones beyond them
//!   (`operations::dead`).
//! - A claim may name several queues, which take turns (`operations::turns`).
//! - `retryDeadJobs` makes the oldest dead letters READY. It reads page by page which ones, and passes by those whose unique
//!   key a live job has. Then it writes: with an idempotency key, each of these jobs keeps the op and the place of the last
//!   dead letter that the call looked at. So a repeat chooses none behind it.
//!
//! READY jobs, jobs with a time, dead letters and done jobs are each in an index of their own, which contains no others.
//! So the number of finished jobs doesn't affect a claim.
//!
//! # Invariants
//!
//! A job has exactly the fields of its state: only a READY job has a place, and it is that of its queue; only a DELAYED
//! or CLAIMED job has a time; a CLAIMED job has a claim. At most one live job of a queue has a unique key.

mod documents;
pub mod invariants;
pub mod operations;
mod person;
pub mod resolvers;
mod store;
mod sweep;
pub mod types;

use super::{
    Room,
    nodes::{Node, NodeType, ObjectType},
    room::{documented, unmet},
};
use crate::graphql::node_id::NodeKind;
pub use documents::JobDocument;
use types::Job;

impl NodeKind {
    /// A job of the work queue.
    pub const JOB: Self = Self::new("job");
}

/// The room.
pub const ROOM: Room = Room {
    faults: Some(|config| {
        let bounds = [
            config.queue_jobs,
            config.queue_jobs_per_producer,
            config.queue_dead_jobs,
            config.queue_dead_jobs_per_producer,
        ];
        unmet([(
            bounds.iter().all(|bound| (1..=1_000_000_000).contains(bound)),
            "queue_jobs, queue_jobs_per_producer, queue_dead_jobs and queue_dead_jobs_per_producer must be between 1 and 1000000000",
        )])
    }),
    nodes: &[NodeType::new(NodeKind::JOB, &[ObjectType::of::<Job>()], |cx, id| {
        Box::pin(
            async move { Ok(operations::job(cx, id).await?.map(|job| Node::of(Job::from(job)))) },
        )
    })],
    documents: &[documented::<JobDocument>()],
    personal: person::PERSONAL,
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    ..Room::new("queue")
};
