//! Claims of one queue that arrive at this gateway while a claim is under way share its commands.
//!
//! The first caller serves everyone who waits; the others wait for their turn and mostly find that they were served.
//! The server reads the first READY jobs, divides them among the callers, and claims each by a guarded update, which
//! share one command. If updates are refused, another gateway claims from the same queue. From then on the server reads
//! more jobs than it needs and chooses at random, so that gateways rarely choose the same.

use std::{
    collections::{HashMap, HashSet},
    iter, mem,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use mongodb::bson::DateTime;
use tokio::sync::oneshot;

use super::super::{
    documents::{Claim, JobDocument, JobState},
    store,
};
use crate::{
    graphql::prelude::*,
    join::join_all,
    locks::lock,
    mongo::{Outcome, collection::Timed, expression::millis},
};

/// Maximum number of jobs that are claimed by one command.
const MAX_JOBS: usize = 200;
/// Maximum number of reads for one claim, while other gateways are faster.
const ROUNDS: usize = 4;
/// Pause between two passes over the jobs of a queue whose time has come.
const PROMOTE: Duration = Duration::from_millis(200);
/// Maximum number of jobs of such a pass.
const PROMOTED: i64 = 200;

/// A claim that waits.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    /// A number for each job that is wanted. With an idempotency key the job remembers its number, and no two jobs of the
    /// op have the same one.
    pub(super) slots: Vec<usize>,
    /// Length of the lease.
    pub(super) lease: Duration,
    /// Subject of the worker.
    pub(super) by: String,
    /// The op, if the call has an idempotency key.
    pub(super) op: Option<Op>,
}

type Answer = Result<Vec<JobDocument>>;

/// The lines of the queues.
#[derive(Default)]
struct Lines(Mutex<HashMap<String, Arc<Line>>>);

/// The claims of one queue.
#[derive(Default)]
struct Line {
    waiting: Mutex<Vec<(Wanted, oneshot::Sender<Answer>)>>,
    turn: tokio::sync::Mutex<Turn>,
}

/// What one server leaves to the next.
#[derive(Default)]
struct Turn {
    promoted: Option<Instant>,
    is_contended: bool,
}

/// Claims jobs of a queue; fewer than wanted, or none, if there are no more.
///
/// # Errors
/// `Unavailable` or `Internal`; jobs may have been claimed. Their leases run out.
pub(super) async fn claim(app: &App, queue: &str, wanted: Wanted) -> Answer {
    let lines = app.shared::<Lines>();
    let line = Arc::clone(lock(&lines.0).entry(queue.to_owned()).or_default());
    let answer = line.claim(app, queue, wanted).await;
    // A queue that nobody claims from needs no line.
    let mut all = lock(&lines.0);
    if Arc::strong_count(&line) == 2 {
        all.remove(queue);
    }
    answer
}

impl Line {
    /// Waits for a turn, and serves those who wait unless another has served this claim.
    async fn claim(&self, app: &App, queue: &str, wanted: Wanted) -> Answer {
        let (sender, mut receiver) = oneshot::channel();
        lock(&self.waiting).push((wanted, sender));
        loop {
            let mut turn = self.turn.lock().await;
            match receiver.try_recv() {
                Ok(answer) => return answer,
                Err(oneshot::error::TryRecvError::Empty) => {}
                Err(oneshot::error::TryRecvError::Closed) => {
                    return Err(Error::unavailable("the claim was interrupted"));
                }
            }
            serve(app, queue, &mut turn, take_some(self)).await;
        }
    }
}

/// Takes claims of up to [`MAX_JOBS`] jobs from the front of the line. Callers who no longer wait are dropped from it, so
/// that no job is claimed for them.
fn take_some(line: &Line) -> Vec<(Wanted, oneshot::Sender<Answer>)> {
    let mut waiting = lock(&line.waiting);
    waiting.retain(|(_, sender)| !sender.is_closed());
    let mut jobs = 0;
    let is_beyond = |(wanted, _): &(Wanted, _)| {
        jobs += wanted.slots.len();
        jobs > MAX_JOBS
    };
    let end = waiting.iter().position(is_beyond).unwrap_or(waiting.len());
    let end = end.max(1).min(waiting.len());
    let rest = waiting.split_off(end);
    mem::replace(&mut *waiting, rest)
}

/// Claims for all of these callers, and answers them.
async fn serve(
    app: &App,
    queue: &str,
    turn: &mut Turn,
    waiting: Vec<(Wanted, oneshot::Sender<Answer>)>,
) {
    let (mut wanted, senders): (Vec<Wanted>, Vec<_>) = waiting.into_iter().unzip();
    // Of calls with the same idempotency key one claims. The others find its jobs.
    let mut ops = HashSet::new();
    for one in &mut wanted {
        if one.op.as_ref().is_some_and(|op| !ops.insert(op.id.clone())) {
            one.slots.clear();
        }
    }
    let mut served: Vec<Vec<JobDocument>> = vec![Vec::new(); wanted.len()];
    let failed = fill(app, queue, turn, &wanted, &mut served).await.err();
    for (jobs, sender) in served.into_iter().zip(senders) {
        let answer = match &failed {
            Some(error) if jobs.is_empty() => Err(Error::unavailable(error.to_string())),
            _ => Ok(jobs),
        };
        // Sending fails if the caller no longer waits. The leases of its jobs run out.
        let _gone = sender.send(answer);
    }
}

/// Claims until every caller has a job, or until there are no more.
async fn fill(
    app: &App,
    queue: &str,
    turn: &mut Turn,
    wanted: &[Wanted],
    served: &mut [Vec<JobDocument>],
) -> Result<()> {
    if turn.promoted.is_none_or(|since| since.elapsed() >= PROMOTE) {
        promote(app, queue).await?;
        turn.promoted = Some(Instant::now());
    }
    for _ in 0..ROUNDS {
        // A caller that got jobs has had its turn, also if it wants more.
        let callers: Vec<usize> =
            (0..wanted.len()).filter(|caller| served[*caller].is_empty()).collect();
        let missing: usize = callers.iter().map(|caller| wanted[*caller].slots.len()).sum();
        if missing == 0 {
            break;
        }
        let limit = if turn.is_contended { missing * 4 } else { missing };
        let mut found = store::list_ready(app, queue, limit).await?;
        let is_end = found.len() < limit;
        if turn.is_contended {
            shuffle(app, &mut found);
        }
        let claims =
            divide(found, &callers, wanted).into_iter().map(|(caller, slot, job)| async move {
                (caller, claim_one(app, job, &wanted[caller], slot).await)
            });
        turn.is_contended = false;
        let mut failed = None;
        for (caller, outcome) in join_all(claims).await {
            match outcome {
                Outcome::Applied(job) => served[caller].push(job),
                Outcome::Refused => turn.is_contended = true,
                Outcome::Unknown(error) => failed = Some(error),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        if is_end && !turn.is_contended {
            break;
        }
    }
    Ok(())
}

/// Divides jobs among these callers: each gets one in turn, up to its number. Returns caller, slot and job.
fn divide(
    found: Vec<Timed<JobDocument>>,
    callers: &[usize],
    wanted: &[Wanted],
) -> Vec<(usize, usize, Timed<JobDocument>)> {
    let most = callers.iter().map(|caller| wanted[*caller].slots.len()).max().unwrap_or(0);
    let places = (0..most).flat_map(|number| {
        let place = move |caller: &usize| Some((*caller, *wanted[*caller].slots.get(number)?));
        callers.iter().filter_map(place)
    });
    iter::zip(places, found).map(|((caller, slot), job)| (caller, slot, job)).collect()
}

/// Claims one job. Returns the job as it is after the claim.
async fn claim_one(
    app: &App,
    Timed { now, document: mut job }: Timed<JobDocument>,
    wanted: &Wanted,
    slot: usize,
) -> Outcome<JobDocument> {
    let claim = Claim {
        token: app.ids().random(),
        by: wanted.by.clone(),
        slot: wanted.op.as_ref().map(|op| format!("{}/{slot:03}", op.id)),
        input: wanted.op.as_ref().map(|op| op.input.clone()),
        end: None,
    };
    let until = DateTime::from_millis(now.timestamp_millis() + millis(wanted.lease));
    match store::claim(app, &job, &claim, until).done().await {
        Outcome::Applied(()) => {
            job.state = JobState::Claimed;
            job.ready = None;
            job.due = Some(until);
            job.claim = Some(claim);
            job.attempts += 1;
            Outcome::Applied(job)
        }
        Outcome::Refused => Outcome::Refused,
        Outcome::Unknown(error) => Outcome::Unknown(error),
    }
}

/// The slot of a claimed job; `None` if it was claimed without an idempotency key.
pub(super) fn slot(job: &JobDocument) -> Option<usize> {
    job.claim.as_ref()?.slot.as_ref()?.rsplit_once('/')?.1.parse().ok()
}

/// Makes jobs of a queue READY whose delay or lease has ended. Returns their number.
///
/// # Errors
/// The first unknown outcome; the next pass repeats it.
pub(in super::super) async fn promote(app: &App, queue: &str) -> Result<u64> {
    let due = store::list_due(app, queue, PROMOTED).await?;
    let promoted = join_all(due.iter().map(|job| store::promote(app, job).held())).await;
    promoted.into_iter().try_fold(0, |count, held| Ok(count + u64::from(held?)))
}

/// Fisher and Yates' shuffle.
fn shuffle<T>(app: &App, all: &mut [T]) {
    for end in (1..all.len()).rev() {
        let random = app.ids().random_bytes();
        let random = usize::from(u16::from_le_bytes([random[0], random[1]]));
        all.swap(end, random % (end + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_job_is_claimed_for_a_caller_who_no_longer_waits() {
        let line = Line::default();
        let wait = |by: &str| {
            let lease = Duration::from_secs(60);
            let slots = (0..MAX_JOBS).collect();
            let wanted = Wanted { slots, lease, by: by.to_owned(), op: None };
            let (sender, receiver) = oneshot::channel();
            lock(&line.waiting).push((wanted, sender));
            receiver
        };
        let _first = wait("first");
        drop(wait("gone"));
        let _last = wait("last");
        let taken = |line: &Line| take_some(line).pop().map(|(wanted, _)| wanted.by);
        assert_eq!(taken(&line).as_deref(), Some("first"));
        assert_eq!(taken(&line).as_deref(), Some("last"));
        assert_eq!(taken(&line), None);
    }
}
