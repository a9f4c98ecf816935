//! Sweep of people: applies overdue changes of names, and removes tombstones that are no longer needed.

use super::{operations, store};
use crate::{app::App, flow::Sweep};

/// Number of documents that one command reads.
const LIMIT: i64 = 100;

/// Finishes interrupted fan-outs, and removes tombstones.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let people = store::people(app);
    let by = ("outbox.at", "outbox");
    let due = |from, limit| people.list_elements_between(by, from, before, limit);
    let spread = |person| async move { operations::spread(app, person).await.map(|_| true) };
    sweep.each_page("names", LIMIT, due, spread).await;
    sweep.count("tombstones", store::remove_tombstones(app, before).await);
}
