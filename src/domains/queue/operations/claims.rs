//! Claims jobs for workers, and completes, fails and renews their claims.

use std::{
    collections::{BTreeSet, HashSet},
    time::Duration,
};

use super::{
    super::{
        documents::{Claim, End, JobDocument, JobState},
        store,
        types::{
            ClaimJobInput, ClaimJobResult, ClaimLost, ClaimedJob, ClaimedJobs, CompleteJobInput,
            CompleteJobResult, CompletedJob, FailJobInput, FailJobResult, HeartbeatJobInput,
            HeartbeatJobResult,
        },
    },
    line::Wanted,
    promote, turns,
};
use crate::graphql::prelude::*;

/// Maximum number of jobs of one claim.
pub(in super::super) const MAX_CLAIMED: i64 = 100;
/// Maximum number of queues of one claim.
pub(in super::super) const MAX_QUEUES: usize = 16;
/// Maximum length of a lease in seconds: twelve hours.
pub(in super::super) const MAX_LEASE: i64 = 43_200;
/// Default length of a lease in seconds.
const LEASE: i32 = 60;
/// Delay after the first failed attempt, and the maximum.
const BACK_OFF: Duration = Duration::from_secs(2);
const MAX_BACK_OFF: Duration = Duration::from_secs(3_600);

fn lease(seconds: Option<i32>) -> Duration {
    Duration::from_secs(u64::try_from(seconds.unwrap_or(LEASE)).unwrap_or(1))
}

/// Claims jobs. A repeat with the same idempotency key returns the jobs of the first call.
pub async fn claim_job(cx: Cx<'_>, input: ClaimJobInput) -> Answer<ClaimJobResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let queues = queues(&input)?;
    let op = cx.op(&[subject, "claimJob"], &input);
    let op = input.idempotency_key.as_ref().map(|_| op);
    if let Some(jobs) = claimed_before(&cx, op.as_ref()).await? {
        return Ok(jobs);
    }
    let wanted = Wanted {
        slots: (0..usize::try_from(input.max.unwrap_or(1)).unwrap_or(1)).collect(),
        lease: lease(input.lease_seconds),
        by: subject.to_owned(),
        op: op.clone(),
    };
    let claimed = turns::claim(&cx, &queues, wanted).await?;
    if claimed.is_empty() {
        // Another call with the same key may have claimed them meanwhile.
        if let Some(jobs) = claimed_before(&cx, op.as_ref()).await? {
            return Ok(jobs);
        }
    }
    Ok(answer(claimed))
}

/// The queues of a claim, each once.
fn queues(input: &ClaimJobInput) -> Result<Vec<String>, InvalidInput> {
    match (&input.queue, &input.queues) {
        (Some(queue), None) => Ok(vec![queue.clone()]),
        (None, Some(queues)) if !queues.is_empty() => {
            let mut once = HashSet::new();
            Ok(queues.iter().filter(|queue| once.insert(*queue)).cloned().collect())
        }
        (None, Some(_)) => Err(InvalidInput::new("queues", "is empty: name a queue")),
        (None, None) => Err(InvalidInput::new("queue", "is missing: give `queue` or `queues`")),
        (Some(_), Some(_)) => Err(InvalidInput::new("queues", "can't be given beside `queue`")),
    }
}

fn answer(claimed: Vec<JobDocument>) -> ClaimedJobs {
    let one = |job: JobDocument| {
        let token = job.claim.as_ref()?.token.clone();
        Some(ClaimedJob { job: job.into(), token })
    };
    ClaimedJobs { jobs: claimed.into_iter().filter_map(one).collect() }
}

/// The jobs that the op has claimed before, if it has claimed any whose leases haven't all run out.
async fn claimed_before(
    app: &App,
    op: Option<&Op>,
) -> Result<Option<ClaimedJobs>, Stop<ClaimJobResult>> {
    let Some(op) = op else { return Ok(None) };
    let mut jobs = store::list_claimed_by(app, &op.id, MAX_CLAIMED).await?;
    let is_other = |claim: &Claim| claim.input.as_ref() != Some(&op.input);
    if jobs.iter().filter_map(|job| job.claim.as_ref()).any(is_other) {
        return Err(Conflict::other_input().into());
    }
    let now = app.clock();
    let has_lapsed =
        |job: &JobDocument| job.state == JobState::Claimed && job.due.is_some_and(|due| due <= now);
    if !jobs.is_empty() && jobs.iter().all(has_lapsed) {
        // Nothing has made them READY since.
        let queues: BTreeSet<&str> = jobs.iter().map(|job| job.queue.as_str()).collect();
        for queue in queues {
            promote(app, queue).await?;
        }
        jobs = store::list_claimed_by(app, &op.id, MAX_CLAIMED).await?;
    }
    Ok((!jobs.is_empty()).then(|| answer(jobs)))
}

/// Renews a lease.
pub async fn heartbeat_job(cx: Cx<'_>, input: HeartbeatJobInput) -> Answer<HeartbeatJobResult> {
    let input = input.checked()?;
    let (id, token, lease) = (&input.job_id, &input.token, lease(input.lease_seconds));
    match renew(&cx, id, token, lease).await? {
        Some(job) => Ok(job),
        None => Err(lost(find(&cx, id).await?, id)),
    }
}

/// Renews a lease; `None` if the claim has ended.
pub(super) async fn renew(
    app: &App,
    id: &str,
    token: &str,
    lease: Duration,
) -> Result<Option<JobDocument>> {
    store::renew(app, id, token, lease).then_read().await
}

/// Completes a job.
pub async fn complete_job(cx: Cx<'_>, input: CompleteJobInput) -> Answer<CompleteJobResult> {
    let input = input.checked()?;
    let id = &input.job_id;
    if complete(&cx, id, &input.token).await? {
        return Ok(CompletedJob { id: id.to_string() });
    }
    Err(lost(find(&cx, id).await?, id))
}

/// Completes a job, and returns whether this claim has completed it, now or before.
pub(super) async fn complete(app: &App, id: &str, token: &str) -> Result<bool> {
    if store::complete(app, id, token).held().await? {
        return Ok(true);
    }
    let found = find(app, id).await?;
    Ok(found.is_some_and(|job| job.state == JobState::Done && job.has_token(token)))
}

/// Ends an attempt as failed.
pub async fn fail_job(cx: Cx<'_>, input: FailJobInput) -> Answer<FailJobResult> {
    let input = input.checked()?;
    let id = &input.job_id;
    let is_retryable = input.is_retryable.unwrap_or(true);
    if let Some(job) = fail(&cx, id, &input.token, &input.reason, is_retryable).await? {
        return Ok(job);
    }
    match find(&cx, id).await? {
        Some(job) if job.has_token(&input.token) && job.end() == Some(End::Failed) => Ok(job),
        found => Err(lost(found, id)),
    }
}

/// Ends an attempt as failed; `None` if the claim has ended before.
pub(super) async fn fail(
    app: &App,
    id: &str,
    token: &str,
    reason: &str,
    is_retryable: bool,
) -> Result<Option<JobDocument>> {
    let jitter = 0.5 + f64::from(app.ids().random_bytes()[0]) / 512.0;
    let delay = is_retryable.then(|| store::back_off(BACK_OFF, MAX_BACK_OFF, jitter));
    store::fail(app, id, token, reason, delay).then_read().await
}

/// The refusal of a call whose claim has ended, by the job as it is now.
fn lost<U: From<ClaimLost> + From<NotFound>>(found: Option<JobDocument>, id: &str) -> Stop<U> {
    match found {
        Some(job) => ClaimLost::new(&job).into(),
        None => NotFound::of(NodeKind::JOB, id).into(),
    }
}

async fn find(app: &App, id: &str) -> Result<Option<JobDocument>> {
    store::jobs(app).get_settled(id).await
}
