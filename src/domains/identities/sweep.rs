//! Sweep of identities: finishes interrupted changes, and removes the tombstones of released names.

use super::{
    documents::IdentityDocument,
    operations::{end, finish},
    store,
};
use crate::{app::App, flow::Sweep};

/// Number of documents of one kind that one command reads.
const MAX: i64 = 100;

/// Ends interrupted changes of names, and removes tombstones.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let by = ("pending.at", "pending");
    let pending = |from, limit| store::identities(app).list_between(by, from, before, limit);
    let end = |pending: IdentityDocument| async move {
        // No attempt can commit a change this old.
        if !end(app, &pending).await?
            && let Some(mark) = &pending.pending
        {
            store::withdraw(app, &pending, mark).held().await?;
        }
        Ok(true)
    };
    sweep.each_page("changes that were cut", MAX, pending, end).await;
    let moved = |from, limit| store::list_moved(app, from, before, limit);
    let finish = |old: IdentityDocument| async move { finish(app, &old).await.map(|_| true) };
    sweep.each_page("changes that aren't finished", MAX, moved, finish).await;
    sweep.count("tombstones", store::remove_tombstones(app, before).await);
}
