//! Sweep of people: applies overdue changes of names, and removes tombstones that are no longer needed.

use super::{documents::PersonDocument, operations, store};
use crate::{app::App, flow::Sweep};

/// Documents per pass.
const LIMIT: i64 = 100;

/// Finishes interrupted fan-outs, and removes tombstones.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let due = store::people(app).list_older(("outbox.at", "outbox"), before, LIMIT).await;
    let spread = |person| async move { operations::spread(app, person).await.map(|_| true) };
    sweep.each(due, |person: &PersonDocument| person.id.clone(), spread).await;
    sweep.count("tombstones", store::remove_tombstones(app, before).await);
}
