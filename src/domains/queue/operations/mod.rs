//! The rules of the work queue.

mod bounds;
mod claims;
mod dead;
mod line;
mod queues;
mod turns;
mod wake;
mod work;

pub(super) use claims::{MAX_CLAIMED, MAX_LEASE, MAX_QUEUES};
pub use claims::{claim_job, complete_job, fail_job, heartbeat_job};
pub(super) use dead::{AT_ONCE, MAX_RETRIED, remove_surplus_of, revive};
pub use dead::{dead_jobs, retry_dead_jobs};
pub(super) use line::promote;
pub use queues::{queue_stats, queues};
pub use wake::job_available;
pub use work::{Handled, Handler, Limits, Work, run};

use std::ops::RangeInclusive;

use mongodb::bson::DateTime;

use super::{
    documents::{JobDocument, JobState, Place, rank, unique},
    store,
    types::{EnqueueInput, EnqueueResult, JobExists},
};
use crate::graphql::prelude::*;

/// Maximum size of a payload in bytes.
pub(super) const PAYLOAD: usize = 65_536;
/// Priorities.
pub(super) const PRIORITY: RangeInclusive<i64> = 0..=9;
/// Default number of attempts.
const ATTEMPTS: i32 = 5;
/// The queues of docgate itself begin with this.
const OWN: &str = "docgate.";

/// Checks the name of a queue that clients use.
///
/// # Errors
/// `InvalidInput` that names the field.
pub(super) fn check_queue(field: &str, name: &str) -> Result<(), InvalidInput> {
    input::plain_name(field, name)?;
    if name.starts_with(OWN) {
        return Err(InvalidInput::new(field, "names that begin with `docgate.` are reserved"));
    }
    Ok(())
}

/// Checks the name of a queue for other interfaces than the schema.
///
/// # Errors
/// The reason.
pub fn check_name(name: &str) -> Result<(), String> {
    check_queue("queue", name).map_err(|fault| fault.reason)
}

/// A job, if it is visible to the caller.
pub async fn job(cx: Cx<'_>, id: &ID) -> Result<Option<JobDocument>> {
    let Ok(id) = input::id(NodeKind::JOB, id) else { return Ok(None) };
    let found = store::jobs(&cx).get(&id).await?;
    Ok(found.filter(|job| is_visible(cx, job)))
}

fn is_visible(cx: Cx<'_>, job: &JobDocument) -> bool {
    let is_own = job.by.as_deref().is_some_and(|by| cx.requester.is(by));
    is_own || cx.requester.has(Role::Worker) || cx.requester.has(Role::Operator)
}

/// Adds a job. Once per idempotency key, and only if there is room for it.
pub async fn enqueue(cx: Cx<'_>, input: EnqueueInput) -> Answer<EnqueueResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let op = cx.op(&[subject, "enqueue"], &input);
    let admitted = match bounds::admit(&cx, subject).await? {
        Ok(admitted) => admitted,
        // A repeat finds its job also if there is no room for another one.
        Err(full) => match added_before(&cx, &op).await? {
            Some(added) => return answer(added),
            None => return Err(full.into()),
        },
    };
    let input = input.into_inner();
    let new = NewJob {
        queue: input.queue,
        payload: input.payload,
        priority: input.priority.unwrap_or(0),
        run_at: input.run_at.map(|at| at.0),
        max_attempts: input.max_attempts.unwrap_or(ATTEMPTS),
        unique_key: input.unique_key,
        by: Some(subject.to_owned()),
    };
    let added = add(&cx, op, new).await?;
    if !matches!(added, Added::Job(_)) {
        admitted.give_back();
    }
    answer(added)
}

fn answer(added: Added) -> Answer<EnqueueResult> {
    match added {
        Added::Job(job) | Added::Before(job) => Ok(*job),
        Added::OtherInput => Err(Conflict::other_input().into()),
        Added::Exists(job) => Err(JobExists::new(&job).into()),
    }
}

/// A job to add.
#[derive(Debug, Clone)]
pub struct NewJob {
    /// Name of the queue.
    pub queue: String,
    /// Text for the worker.
    pub payload: String,
    /// Priority.
    pub priority: i32,
    /// Time before which it isn't claimed.
    pub run_at: Option<DateTime>,
    /// Number of attempts.
    pub max_attempts: i32,
    /// Key that at most one live job of the queue has.
    pub unique_key: Option<String>,
    /// Subject of the producer.
    pub by: Option<String>,
}

impl NewJob {
    /// A job of docgate itself, for a handler that another room has registered for this queue.
    pub fn own(queue: &str, payload: String) -> Self {
        Self {
            queue: format!("{OWN}{queue}"),
            payload,
            priority: 0,
            run_at: None,
            max_attempts: ATTEMPTS,
            unique_key: None,
            by: None,
        }
    }
}

/// The result of adding a job.
#[derive(Debug)]
pub enum Added {
    /// The job, which was added now.
    Job(Box<JobDocument>),
    /// The job, which this op has added before.
    Before(Box<JobDocument>),
    /// The op has added a job with another input.
    OtherInput,
    /// This live job has the unique key.
    Exists(Box<JobDocument>),
}

/// Adds a job, once for each op. Other rooms call it in the apply step of a flow, with an op that follows from the
/// flow's tag.
///
/// # Errors
/// The outcome is unknown: it can be repeated with the same op.
pub async fn add(app: &App, op: Op, new: NewJob) -> Result<Added> {
    let job = JobDocument::new(op.clone(), new, app.clock());
    for _ in 0..TRIES {
        if store::jobs(app).insert(&job).await.decided()?.is_some() {
            return Ok(Added::Job(Box::new(job)));
        }
        if let Some(added) = added_before(app, &op).await? {
            return Ok(added);
        }
        if let Some(key) = &job.unique_key
            && let Some(live) = store::find_unique(app, &job.queue, key).await?
        {
            return Ok(Added::Exists(Box::new(live)));
        }
        // The job with the unique key has ended meanwhile.
    }
    Err(Error::unavailable("jobs with the unique key come and go"))
}

/// What the op has added before.
async fn added_before(app: &App, op: &Op) -> Result<Option<Added>> {
    let found = store::jobs(app).get_settled(&op.id).await?;
    Ok(found.map(|added| {
        let is_same = added.input == op.input;
        if is_same { Added::Before(Box::new(added)) } else { Added::OtherInput }
    }))
}

/// Maximum number of inserts of one job.
const TRIES: usize = 5;

impl JobDocument {
    fn new(op: Op, new: NewJob, now: DateTime) -> Self {
        let NewJob { queue, payload, priority, run_at, max_attempts, unique_key, by } = new;
        let due = run_at.filter(|at| *at > now);
        let place = || Place { queue: queue.clone(), rank: rank(now, priority) };
        Self {
            id: op.id,
            ready: due.is_none().then(place),
            state: if due.is_some() { JobState::Delayed } else { JobState::Ready },
            due,
            unique: unique_key.as_ref().map(|key| unique(&queue, key)),
            queue,
            payload,
            priority,
            claim: None,
            attempts: 0,
            max_attempts,
            unique_key,
            by,
            input: op.input,
            at: now,
            done_at: None,
            dead_at: None,
            reason: None,
            retries: Vec::new(),
            v: crate::mongo::Version,
        }
    }
}
