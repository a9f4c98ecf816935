//! Sweep of content: finishes interrupted flows, promotes due editions to `live`, and removes what deleted
//! content leaves behind.

use super::{
    documents::NodeDocument,
    operations::keep,
    store::{self, Nodes},
};
use crate::{app::App, domains::comments, flow::Sweep};

/// Number of documents of one kind that one command reads.
const LIMIT: i64 = 100;

/// Finishes interrupted flows, promotes due editions, and removes what is left of deleted content.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let (tree, before) = (Nodes::over(app), sweep.unchanged_before());
    tree.sweep(sweep).await;

    // Former versions of interrupted edits.
    let versions =
        |from, limit| tree.list_elements_between(("kept.at", "kept"), from, before, limit);
    let keep = |node: NodeDocument| async move { keep(app, &node).await.map(|()| true) };
    sweep.each_page("versions", LIMIT, versions, keep).await;

    // Due editions become `live`, which full-text search uses. Readers already see them.
    let now = sweep.now();
    let due = |from, limit| tree.list_between("next.at", from, now, limit);
    let promote = |node: NodeDocument| async move { store::promote(app, &node.id).held().await };
    sweep.each_page("editions", LIMIT, due, promote).await;

    // Versions and comments of deleted content.
    let deleted = |from, limit| tree.list_between("remains", from, before, limit);
    let remove = |node: NodeDocument| async move {
        if let Some(discussion) = &node.discussion {
            comments::operations::forget(app, &discussion.id).await?;
        }
        store::drop_revisions(app, &node.id).await?;
        store::settle_remains(app, &node.id).held().await
    };
    sweep.each_page("remains", LIMIT, deleted, remove).await;

    // Tombstones of deleted content whose idempotency keys are no longer remembered. A version whose insert took longer than
    // the grace period may have arrived after the others were removed.
    let forgotten = sweep.ops_expired_before();
    let expired = |from, limit| tree.list_between("deletedAt", from, forgotten, limit);
    let remove = |node: NodeDocument| async move {
        store::drop_revisions(app, &node.id).await?;
        Ok(store::remove_tombstone(app, &node.id).await.decided()?.is_some())
    };
    sweep.each_page("tombstones", LIMIT, expired, remove).await;
}
