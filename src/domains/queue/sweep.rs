//! Sweep of the work queue: makes jobs READY whose delay or lease has ended, makes dead jobs of docgate itself available
//! again, and removes jobs that are DONE and dead letters beyond their bounds.

use std::time::Duration;

use super::{
    documents::{JobHead, JobState},
    operations::{AT_ONCE, MAX_RETRIED, promote, remove_surplus_of, revive},
    store,
};
use crate::{
    app::App,
    domains,
    flow::{Pages, Sweep},
};

/// Maximum number of DONE jobs that are removed by one command, and of such commands per sweep.
const REMOVED: i64 = 1_000;
const ROUNDS: usize = 20;

/// Time for which a DONE job remains at least.
const KEPT: Duration = Duration::from_secs(24 * 3_600);

/// Makes jobs READY in every queue and dead jobs of docgate itself available again. Removes dead letters beyond their
/// bounds, and old DONE jobs, whose idempotency keys need not be remembered any more.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    promote_all(app, sweep).await;
    revive_own(app, sweep).await;
    remove_surplus(app, sweep).await;
    let before = sweep.ops_expired_before().min(sweep.earlier(KEPT));
    for _ in 0..ROUNDS {
        let removed = store::remove_done(app, before, REMOVED).await;
        let is_last = !matches!(removed, Ok(1..));
        sweep.count("done jobs", removed);
        if is_last {
            return;
        }
    }
}

/// Makes jobs READY in every queue. A producer chooses the names of queues, so there can be as many queues as jobs.
async fn promote_all(app: &App, sweep: &mut Sweep) {
    let next = |last: Option<String>| async move {
        store::next_queue(app, JobState::Delayed, last.map(Into::into), false).await
    };
    let promote = |queue: String| async move { promote(app, &queue).await };
    sweep.each_name("queues", next, promote).await;
}

/// Makes jobs of docgate itself available again that have failed too often, the last time long ago. They have to be done in
/// the end, and a room that adds such a job again finds that it exists.
async fn revive_own(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let pages = Pages { limit: MAX_RETRIED, side_by_side: AT_ONCE };
    for work in domains::work(app.config()) {
        let queue = &*work.queue;
        let dead = |from, limit| store::list_died(app, queue, from..before, limit);
        let revive = |job: JobHead| async move { Ok(revive(app, &[job], None).await? > 0) };
        sweep.each_page(queue, pages, dead, revive).await;
    }
}

/// Removes the oldest dead letters beyond the bounds: of each producer, and then of all producers. There can be many
/// producers.
async fn remove_surplus(app: &App, sweep: &mut Sweep) {
    let most = app.config().queue_dead_jobs;
    let share = app.config().queue_dead_jobs_per_producer.min(most);
    let all = store::count_dead(app, None, share + 1).await;
    // As long as all producers together have no more than one of them may have, no producer is looked at.
    if matches!(all, Ok(all) if all <= share) {
        return;
    }
    sweep.note("number of dead jobs", all.map(drop));
    let next = |last: Option<String>| async move {
        store::next_producer_with_dead(app, last.as_deref().unwrap_or_default()).await
    };
    let remove = |by: String| async move { remove_surplus_of(app, Some(&by), share).await };
    sweep.each_name("producers with dead jobs", next, remove).await;
    sweep.count("surplus dead jobs", remove_surplus_of(app, None, most).await);
}
