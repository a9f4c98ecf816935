//! Sweep of content: finishes interrupted flows, promotes due editions to `live`, and removes what deleted
//! content leaves behind.

use super::{
    documents::NodeDocument,
    operations::keep,
    store::{self, Nodes},
};
use crate::{app::App, domains::comments, flow::Sweep};

/// Finishes interrupted flows, promotes due editions, and removes what is left of deleted content.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let (tree, before) = (Nodes::over(app), sweep.unchanged_before());
    let id = |node: &NodeDocument| node.id.clone();
    tree.sweep(sweep).await;

    // Former versions of interrupted edits.
    let versions = tree.list_older("kept.at", before).await;
    sweep.each(versions, id, |node| async move { keep(app, &node).await.map(|()| true) }).await;

    // Due editions become `live`, which full-text search uses. Readers already see them.
    let due = tree.list_older("next.at", sweep.now()).await;
    let promote = |node: NodeDocument| async move { store::promote(app, &node.id).held().await };
    sweep.each(due, id, promote).await;

    // Versions and comments of deleted content.
    let deleted = tree.list_older("remains", before).await;
    let remove = |node: NodeDocument| async move {
        if let Some(discussion) = &node.discussion {
            comments::operations::forget(app, &discussion.id).await?;
        }
        store::drop_revisions(app, &node.id).await?;
        store::settle_remains(app, &node.id).held().await
    };
    sweep.each(deleted, id, remove).await;

    // Tombstones of deleted content whose idempotency keys are no longer remembered. A version whose insert took longer than
    // the grace period may have arrived after the others were removed.
    let expired = tree.list_older("deletedAt", sweep.ops_expired_before()).await;
    let remove = |node: NodeDocument| async move {
        store::drop_revisions(app, &node.id).await?;
        Ok(store::remove_tombstone(app, &node.id).await.decided()?.is_some())
    };
    sweep.each(expired, id, remove).await;
}
