//! Lists dead letters, makes them available again, and keeps their number within its bounds.

use std::{collections::HashSet, time::Instant};

use mongodb::bson::{Bson, DateTime};

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

/// Makes dead letters available again. A repeat with the same idempotency key makes none available after the last one that
/// the first call has chosen, none twice, and not more than `max` in all.
pub async fn retry_dead_jobs(cx: Cx<'_>, input: RetryDeadJobsInput) -> Answer<RetryDeadJobsResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let op = cx.op(&[subject, "retryDeadJobs"], &input);
    let (queue, max) = (&input.queue, input.max.map_or(MAX_RETRIED, i64::from));
    let mut choice = choose(&cx, queue, max, None).await?;
    if input.idempotency_key.is_none() {
        let count = revive(&cx, &choice.chosen, None).await?;
        return Ok(retried(count, choice.ids().count() - count));
    }
    // This is read after the list: if the list lacks a job because of a call with the same key, that call is found.
    let before = store::list_retried_by(&cx, &op.id, MAX_RETRIED).await?;
    let retry = match recorded(&before, &op)? {
        Some(retry) => {
            let left = max.saturating_sub(expression::count(before.len())).max(0);
            choice = choose(&cx, queue, left, Some(&retry)).await?;
            retry
        }
        None => match choice.last.clone() {
            Some((last_at, last_id)) => Retry { op: op.id, input: op.input, last_at, last_id },
            None => return Ok(retried(0, 0)),
        },
    };
    let count = revive(&cx, &choice.chosen, Some(&retry)).await?;
    if before.is_empty() && count == choice.chosen.len() {
        return Ok(retried(count, choice.passed.len()));
    }
    // A call with the same key may have been faster with some of them.
    let all = store::list_retried_by(&cx, &retry.op, MAX_RETRIED).await?;
    let ids: HashSet<&str> = all.iter().map(|job| job.id.as_str()).collect();
    let skipped = choice.ids().filter(|id| !ids.contains(id)).count();
    Ok(retried(all.len(), skipped))
}

/// The dead letters that a call looks at.
struct Choice {
    /// Those to make available.
    chosen: Vec<JobHead>,
    /// `_id` of the others.
    passed: Vec<String>,
    /// `deadAt` and `_id` of the last of them all.
    last: Option<(DateTime, String)>,
}

impl Choice {
    /// `_id` of all of them.
    fn ids(&self) -> impl Iterator<Item = &str> {
        self.chosen.iter().map(|job| job.id.as_str()).chain(self.passed.iter().map(String::as_str))
    }
}

/// Chooses the oldest dead letters of a queue, page by page, up to `most`. It passes by those whose unique key a live job
/// has, or one that it has chosen: they stay dead, however many there are. It reads pages for half of an attempt. With
/// `until` it looks at all up to the last one of that call.
async fn choose(app: &App, queue: &str, most: i64, until: Option<&Retry>) -> Result<Choice> {
    let (since, time) = (Instant::now(), app.bounds().attempt / 2);
    let mut choice = Choice { chosen: Vec::new(), passed: Vec::new(), last: None };
    let mut taken = HashSet::new();
    let mut limit = until.map_or(most, |_| MAX_RETRIED);
    loop {
        let page = store::list_oldest_dead(app, queue, choice.last.as_ref(), until, limit).await?;
        let is_last = expression::count(page.len()) < limit;
        let keys: Vec<String> = page.iter().filter_map(JobHead::unique).collect();
        if !keys.is_empty() {
            taken.extend(store::list_live_keys(app, &keys).await?);
        }
        for job in page {
            let is_full = expression::count(choice.chosen.len()) >= most;
            if is_full && until.is_none() {
                return Ok(choice);
            }
            choice.last = job.dead_at.map(|at| (at, job.id.clone()));
            let is_free = job.unique().is_none_or(|key| taken.insert(key));
            if is_free && !is_full {
                choice.chosen.push(job);
            } else {
                choice.passed.push(job.id);
            }
        }
        let is_full = expression::count(choice.chosen.len()) >= most;
        if is_last || (until.is_none() && (is_full || since.elapsed() >= time)) {
            return Ok(choice);
        }
        limit = MAX_RETRIED;
    }
}

fn retried(count: usize, skipped: usize) -> RetriedJobs {
    RetriedJobs { count: int(expression::count(count)), skipped: int(expression::count(skipped)) }
}

/// The record of the op on jobs that it made available before.
fn recorded(jobs: &[JobHead], op: &Op) -> Result<Option<Retry>, OtherInput> {
    let Some(retry) = jobs.iter().flat_map(|job| &job.retries).find(|retry| retry.op == op.id)
    else {
        return Ok(None);
    };
    op.demand_same(&retry.input)?;
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
