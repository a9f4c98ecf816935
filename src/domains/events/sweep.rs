//! The sweep of events drops months that are too old, and creates the next month ahead of its first event. It forgets
//! calls whose idempotency keys need not be remembered any more.

use mongodb::bson::DateTime;

use super::{calendar::Month, operations, store};
use crate::{app::App, domains::times::DAY, flow::Sweep};

/// Time for which a month is kept beyond the retention, in milliseconds. It exceeds any command that is under way, and the
/// difference between clocks.
pub(super) const SLACK: i64 = DAY / 24;
/// Time before its beginning at which the next month is created.
const AHEAD: i64 = DAY;

pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let now = sweep.now().timestamp_millis();
    let oldest = operations::oldest(app, now);
    match store::months(app).await {
        Ok(months) => {
            if let Some(oldest) = oldest {
                drop_older(app, sweep, &months, oldest).await;
            }
            let next = Month::of(now + AHEAD);
            if months.contains(&Month::of(now)) && !months.contains(&next) {
                let created = operations::months::demand(app, next).await;
                sweep.note("next month", created.map(|_| ()));
            }
        }
        Err(error) => sweep.note("months", Err(error)),
    }
    if let Some(oldest) = oldest {
        let forgotten = store::forget_imports(app, DateTime::from_millis(oldest - SLACK)).await;
        sweep.note("imports", forgotten.map(|_| ()));
    }
    let forgotten = store::forget_calls(app, sweep.ops_expired_before()).await;
    sweep.note("calls", forgotten.map(|_| ()));
}

/// Drops the months all of whose events are older than the oldest time.
async fn drop_older(app: &App, sweep: &mut Sweep, months: &[Month], oldest: i64) {
    let old = months
        .iter()
        .copied()
        .filter(|month| month.end().saturating_add(SLACK) <= oldest)
        .collect();
    let remove = |month: Month| async move {
        store::drop_month(app, month).await?;
        operations::months::forget(app, month);
        tracing::info!(event = "events_dropped", month = %month, "a month of events was dropped");
        Ok(true)
    };
    sweep.each(Ok(old), Month::to_string, remove).await;
}
