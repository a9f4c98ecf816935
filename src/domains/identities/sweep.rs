//! Sweep of identities: finishes interrupted changes, and removes the tombstones of released names.

use super::{
    documents::IdentityDocument,
    operations::{end, finish},
    store,
};
use crate::{app::App, flow::Sweep};

/// Maximum number of each kind per sweep.
const MAX: i64 = 100;

/// Ends interrupted changes of names, and removes tombstones.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let key = |identity: &IdentityDocument| identity.key.clone();
    let index = ("pending.at", "pending");
    let pending = store::identities(app).list_older(index, before, MAX).await;
    let end = |pending: IdentityDocument| async move {
        // No attempt can commit a change this old.
        if !end(app, &pending).await?
            && let Some(mark) = &pending.pending
        {
            store::withdraw(app, &pending, mark).held().await?;
        }
        Ok(true)
    };
    sweep.each(pending, key, end).await;
    let moved = store::list_moved(app, before, MAX).await;
    sweep.each(moved, key, |old| async move { finish(app, &old).await.map(|_| true) }).await;
    sweep.count("tombstones", store::remove_tombstones(app, before).await);
}
