//! Completes creations, and recovers from interrupted creations, deletions and fan-outs.

use super::{Branch, Child, Grown, Pass, Tree};
use crate::{error::Error, flow::Sweep};

/// Maximum number of branches of one kind per sweep.
const MOST: i64 = 100;

/// Completes a creation: compares the branch with its parent once more, or removes it if the parent is
/// deleted or being deleted. Returns `None` if it was removed. Anyone may repeat it.
///
/// # Errors
/// The outcome is unknown; the creation still has to be completed.
pub async fn settle<T: Branch>(tree: &Tree<T>, mut branch: T) -> Result<Option<T>, Error> {
    while branch.is_copying() {
        let ended = if follow(tree, &branch).await? {
            tree.confirm(&branch).await.decided()?.map(Some)
        } else {
            tree.withdraw(&branch).await.decided()?.map(|()| None)
        };
        if let Some(ended) = ended {
            return Ok(ended);
        }
        // Someone else has completed the creation or moved the branch.
        let Some(again) = tree.find(branch.id()).await? else { return Ok(None) };
        branch = again;
    }
    Ok(Some(branch))
}

/// Reads a branch for the holder of the tree's lock. Completes its creation if that is still open, and
/// removes the mark of an interrupted deletion, which can't write any more.
pub async fn taken_up<T: Branch>(tree: &Tree<T>, id: &str) -> Result<Option<T>, Error> {
    let Some(found) = tree.find(id).await? else { return Ok(None) };
    let found = settle(tree, found).await?;
    match found.as_ref().and_then(|branch| branch.deleting().cloned()) {
        None => Ok(found),
        Some(mark) => match tree.unmark_deleting(id, &mark.by).await.decided()? {
            Some(unmarked) => Ok(Some(unmarked)),
            // The sweep was faster.
            None => tree.find(id).await,
        },
    }
}

/// Updates a branch from the current state of its parent. Returns false if the parent is deleted or being
/// deleted.
async fn follow<T: Branch>(tree: &Tree<T>, branch: &T) -> Result<bool, Error> {
    let Some(parent) = branch.parent_id() else { return Ok(true) };
    let parent = tree.find(parent).await?.filter(|parent| !parent.is_going());
    let Some(parent) = parent else { return Ok(false) };
    if parent.cv() > branch.parent_cv() {
        tree.update_children(&parent, Some(branch.id())).await?;
    }
    Ok(true)
}

/// Finishes what was interrupted in a tree: creations, deletions, and the fan-outs of changes.
pub async fn sweep_tree<G: Grown>(grown: &G, sweep: &mut Sweep) {
    let (tree, before) = (&grown.tree(), sweep.quiet());
    let left_behind = |field| tree.list_left_behind(field, before, MOST);
    let id = |branch: &G::Branch| branch.id().to_owned();
    let complete = |branch| async move { settle(tree, branch).await.map(|_| true) };
    sweep.each(left_behind("copying").await, id, complete).await;
    // The writes of a deletion this old can't be applied any more, and no client was told that the branch is
    // gone.
    let unmark = |branch: G::Branch| async move {
        let Some(mark) = branch.deleting() else { return Ok(false) };
        tree.unmark_deleting(branch.id(), &mark.by).await.decided().map(|_| true)
    };
    sweep.each(left_behind("deleting.at").await, id, unmark).await;
    let fan_out = |branch: G::Branch| async move {
        if let Some((mut pass, _)) = Pass::begin(grown, branch.id()).await? {
            pass.go_on(grown, None).await?;
        }
        Ok(true)
    };
    sweep.each(left_behind("outbox.at").await, id, fan_out).await;
}
