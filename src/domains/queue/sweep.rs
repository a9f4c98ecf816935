//! Sweep of the work queue: makes jobs READY whose delay or lease has ended, makes dead jobs of docgate itself available
//! again, and removes jobs that are DONE and dead letters beyond their bounds.

use std::time::Duration;

use super::{
    documents::JobState,
    operations::{promote, remove_surplus, revive_own},
    store,
};
use crate::{app::App, flow::Sweep};

/// Maximum number of DONE jobs that are removed by one command, and of such commands per sweep.
const REMOVED: i64 = 1_000;
const ROUNDS: usize = 20;

/// Time for which a DONE job remains at least.
const KEPT: Duration = Duration::from_secs(24 * 3_600);

/// Makes jobs READY in every queue and dead jobs of docgate itself available again. Removes dead letters beyond their
/// bounds, and old DONE jobs, whose idempotency keys need not be remembered any more.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    promote_all(app, sweep).await;
    sweep.count("dead jobs of docgate", revive_own(app, sweep.unchanged_before()).await);
    sweep.count("surplus dead jobs", remove_surplus(app).await);
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
