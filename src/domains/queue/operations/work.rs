//! docgate's own workers: they claim jobs, call a handler for each, and end the claim by its result.

use std::{
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::select_all;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::{
    super::{JobDocument, documents::JobState},
    OWN,
    claims::{complete, fail, renew},
    line::Wanted,
    turns,
    wake::{self, POLL},
};
use crate::graphql::prelude::*;

/// What a handler does with a job. A text is the reason of a failed attempt.
pub type Handled = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;
/// Does a job. It may be called again for a job that it has done, if the gateway stopped before the job was completed.
/// It is dropped when the lease is lost.
pub type Handler = Arc<dyn Fn(App, JobDocument) -> Handled + Send + Sync>;

/// A queue, and the handler of its jobs.
#[derive(Clone)]
pub struct Work {
    /// Name of the queue.
    pub queue: String,
    /// Does its jobs.
    pub handler: Handler,
}

impl std::fmt::Debug for Work {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Work").field("queue", &self.queue).finish_non_exhaustive()
    }
}

impl Work {
    /// The work of a queue of docgate itself.
    pub fn own(queue: &str, handler: Handler) -> Self {
        Self { queue: format!("{OWN}{queue}"), handler }
    }
}

/// Pause after an error.
const RETRY: Duration = Duration::from_secs(1);

/// Limits of workers.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum number of jobs at once.
    pub jobs: usize,
    /// Length of a lease. It is renewed each third of this time.
    pub lease: Duration,
}

/// Does the jobs of these queues until `stop`, then waits for the jobs under way. The queues take turns, so that a long
/// queue doesn't keep the others waiting.
pub async fn run(app: &App, queues: Vec<Work>, limits: Limits, stop: CancellationToken) {
    let Limits { jobs, lease } = limits;
    let free = Arc::new(Semaphore::new(jobs));
    let mut changes: Vec<_> = queues.iter().map(|work| wake::changes(app, &work.queue)).collect();
    let names: Vec<String> = queues.iter().map(|work| work.queue.clone()).collect();
    let mut running = JoinSet::new();
    if queues.is_empty() {
        return;
    }
    while !stop.is_cancelled() {
        while running.try_join_next().is_some() {}
        let permit = tokio::select! {
            permit = Arc::clone(&free).acquire_owned() => permit,
            () = stop.cancelled() => break,
        };
        let Ok(permit) = permit else { break };
        // The lease counts from a later time.
        let lease_since = Instant::now();
        let wanted = Wanted { slots: vec![0], lease, by: app.name().to_owned(), op: None };
        let claimed = turns::claim(app, &names, wanted).await.map(|mut jobs| jobs.pop());
        let with_work = |job: JobDocument| {
            let work = queues.iter().find(|work| work.queue == job.queue)?;
            Some((work.clone(), job))
        };
        match claimed.map(|job| job.and_then(with_work)) {
            Ok(Some((work, job))) => {
                let held = Held { since: lease_since, length: lease };
                running.spawn(work_on(app.clone(), work, job, held, permit));
            }
            Ok(None) => {
                let woken = select_all(changes.iter_mut().map(|one| Box::pin(one.changed())));
                tokio::select! {
                    _ = woken => {}
                    () = tokio::time::sleep(POLL) => {}
                    () = stop.cancelled() => break,
                }
            }
            Err(error) => {
                tracing::warn!(
                    event = "claim_failed",
                    ?error,
                    "a claim of jobs failed; it is retried"
                );
                tokio::select! {
                    () = tokio::time::sleep(RETRY) => {}
                    () = stop.cancelled() => break,
                }
            }
        }
    }
    while running.join_next().await.is_some() {}
}

/// A lease, by this machine's clock: it ends no earlier than its length after this time.
struct Held {
    since: Instant,
    length: Duration,
}

/// Does one job under its lease, and ends the claim.
async fn work_on(
    app: App,
    work: Work,
    job: JobDocument,
    lease: Held,
    permit: OwnedSemaphorePermit,
) {
    let Some(claim) = &job.claim else { return };
    let (id, token) = (job.id.clone(), claim.token.clone());
    let handled = (work.handler)(app.clone(), job);
    let ended = tokio::select! {
        handled = handled => end(&app, &id, &token, handled).await,
        lost = keep(&app, &id, &token, lease) => Err(lost),
    };
    drop(permit);
    if let Err(error) = ended {
        let queue = work.queue;
        tracing::warn!(
            event = "job_not_ended",
            queue,
            id = NodeKind::JOB.id(&id).0,
            ?error,
            "a job's claim was lost; it is tried again"
        );
    }
}

async fn end(app: &App, id: &str, token: &str, handled: Result<(), String>) -> Result<()> {
    let is_ended = match handled {
        Ok(()) => complete(app, id, token).await?,
        Err(reason) => {
            let reason: String = reason.chars().take(REASON).collect();
            let failed = fail(app, id, token, &reason, true).await?;
            failed.inspect(log_failure).is_some()
        }
    };
    if is_ended { Ok(()) } else { Err(Error::unavailable("the lease had run out")) }
}

/// Logs the failed attempt of a job, and whether the job is a dead letter now.
fn log_failure(job: &JobDocument) {
    let JobDocument { queue, attempts, max_attempts, reason, .. } = job;
    let (id, reason) = (NodeKind::JOB.id(&job.id).0, reason.as_deref());
    if job.state == JobState::Dead {
        tracing::error!(
            event = "job_dead",
            queue,
            id,
            attempts,
            reason,
            "the last attempt of a job failed; the job is a dead letter"
        );
    } else {
        tracing::warn!(
            event = "job_failed",
            queue,
            id,
            attempts,
            max_attempts,
            reason,
            "an attempt of a job failed; the job is tried again"
        );
    }
}

/// Maximum length of a reason in characters.
const REASON: usize = 1_000;

/// Renews a lease until that is refused, or until the lease has run out because it couldn't be renewed. Returns the
/// reason.
async fn keep(app: &App, id: &str, token: &str, Held { mut since, length }: Held) -> Error {
    let lost = || Error::unavailable("the lease had run out");
    loop {
        tokio::time::sleep(length / 3).await;
        let now = Instant::now();
        let left = length.saturating_sub(now.duration_since(since));
        match tokio::time::timeout(left, renew(app, id, token, length)).await {
            Ok(Ok(Some(_))) => since = now,
            Ok(Ok(None)) | Err(_) => return lost(),
            // The lease may hold until the next try.
            Ok(Err(error)) => {
                tracing::debug!(event = "heartbeat_failed", ?error, "heartbeat failed");
            }
        }
    }
}
