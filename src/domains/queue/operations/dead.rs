//! Lists dead letters, makes them available again, and keeps their number within its bounds.

use std::collections::HashSet;

use mongodb::bson::Bson;

use super::{
    super::{
        documents::{JobDocument, JobHead, Retry},
        store,
        types::{Job, RetriedJobs, RetryDeadJobsInput, RetryDeadJobsResult},
    },
    check_queue,
};
use crate::{
    graphql::{prelude::*, scalars::int},
    mongo::{Outcome, expression},
};

/// Maximum number of jobs of one `retryDeadJobs`.
pub(in super::super) const MAX_RETRIED: i64 = 1_000;
/// Number of guarded writes that are sent at once.
pub(in super::super) const AT_ONCE: usize = 100;
/// Maximum number of dead letters that are removed by one command, and of such commands for one bound in a sweep.
const REMOVED: u64 = 1_000;
const ROUNDS: usize = 20;

/// The dead letters of a queue.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn dead_jobs(cx: Cx<'_>, queue: &str, paging: Paging) -> Result<Connection<Job>> {
    check_queue("queue", queue)?;
    let order =
        Order { list: format!("deadJobs {queue}"), keys: vec![("deadAt", -1), ("_id", -1)] };
    let page = Page::new(&cx, order, paging)?;
    let found = store::list_dead(&cx, &page, queue).await?;
    let keys = |job: &JobDocument| {
        let dead = job.dead_at.map_or(Bson::Null, Bson::DateTime);
        vec![dead, Bson::from(&job.id)]
    };
    Ok(page.connection(found, keys, Job::from))
}

/// Makes dead letters available again. A repeat with the same idempotency key makes only those available that the first
/// call has chosen, and none twice.
pub async fn retry_dead_jobs(
    cx: Cx<'_>,
    input: RetryDeadJobsInput,
) -> Result<RetriedJobs, Stop<RetryDeadJobsResult>> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let op = cx.op(&[subject, "retryDeadJobs"], input.idempotency_key.as_ref(), &*input);
    let (queue, max) = (&input.queue, input.max.map_or(MAX_RETRIED, i64::from));
    let mut dead = store::list_oldest_dead(&cx, queue, None, max).await?;
    if input.idempotency_key.is_none() {
        let count = revive(&cx, &dead, None).await?;
        return Ok(retried(count, dead.len() - count));
    }
    // This is read after the list: if the list lacks a job because of a call with the same key, that call is found.
    let before = store::list_retried_by(&cx, &op.id, MAX_RETRIED).await?;
    let retry = match recorded(&before, &op)? {
        Some(retry) => {
            dead = store::list_oldest_dead(&cx, queue, Some(&retry), max).await?;
            retry
        }
        None => match dead.last().and_then(|last| Some((last.dead_at?, last.id.clone()))) {
            Some((last_at, last_id)) => Retry { op: op.id, input: op.input, last_at, last_id },
            None => return Ok(retried(0, 0)),
        },
    };
    let count = revive(&cx, &dead, Some(&retry)).await?;
    if before.is_empty() && count == dead.len() {
        return Ok(retried(count, 0));
    }
    // A call with the same key may have been faster with some of them.
    let all = store::list_retried_by(&cx, &retry.op, MAX_RETRIED).await?;
    let ids: HashSet<&str> = all.iter().map(|job| job.id.as_str()).collect();
    let skipped = dead.iter().filter(|job| !ids.contains(job.id.as_str())).count();
    Ok(retried(all.len(), skipped))
}

fn retried(count: usize, skipped: usize) -> RetriedJobs {
    RetriedJobs { count: int(expression::count(count)), skipped: int(expression::count(skipped)) }
}

/// The record of the op on jobs that it made available before.
fn recorded(jobs: &[JobHead], op: &Op) -> Result<Option<Retry>, Conflict> {
    let Some(retry) = jobs.iter().flat_map(|job| &job.retries).find(|retry| retry.op == op.id)
    else {
        return Ok(None);
    };
    if retry.input != op.input {
        return Err(Conflict::other_input());
    }
    Ok(Some(retry.clone()))
}

/// Makes these dead letters available again, unless they aren't dead any more or a live job has their unique key.
/// Returns the number of those that are available.
///
/// # Errors
/// An unknown outcome; the others that were sent at once are answered.
pub(in super::super) async fn revive(
    app: &App,
    dead: &[JobHead],
    by: Option<&Retry>,
) -> Result<usize> {
    let mut count = 0;
    for some in dead.chunks(AT_ONCE) {
        let revived = some.iter().map(|job| store::revive(app, job, by).done());
        for outcome in crate::join::join_all(revived).await {
            match outcome {
                Outcome::Applied(()) => count += 1,
                Outcome::Refused => {}
                Outcome::Unknown(error) => return Err(error),
            }
        }
    }
    Ok(count)
}

/// Removes the oldest dead letters beyond a bound, of this producer or of all. Returns their number.
///
/// # Errors
/// Some may have been removed; the next sweep removes the rest.
pub(in super::super) async fn remove_surplus_of(
    app: &App,
    by: Option<&str>,
    most: u64,
) -> Result<u64> {
    let mut total = 0;
    for _ in 0..ROUNDS {
        let surplus = store::count_dead(app, by, most + REMOVED).await?.saturating_sub(most);
        if surplus == 0 {
            break;
        }
        let limit = i64::try_from(surplus).unwrap_or(i64::MAX);
        total += store::remove_oldest_dead(app, by, limit).await?;
    }
    if total > 0 {
        tracing::warn!(
            event = "dead_jobs_removed",
            producer = by,
            count = total,
            most,
            "the oldest dead letters were removed, because there were more than permitted"
        );
    }
    Ok(total)
}
