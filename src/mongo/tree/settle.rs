//! Completes creations, and recovers from interrupted creations, deletions and fan-outs.

use mongodb::bson::DateTime;

use super::{Branch, Child, Grown, Pass, Tree};
use crate::{error::Error, mongo::SweepReport};

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

/// Completes creations older than `before`, and returns their number.
///
/// # Errors
/// The first error; the other branches were still tried.
pub async fn sweep_creations<G: Grown>(grown: &G, before: DateTime) -> Result<u64, Error> {
    let tree = grown.tree();
    let mut tally = SweepReport::default();
    for branch in tree.list_left_behind("copying", before, MOST).await? {
        let id = branch.id().to_owned();
        tally.add(&id, settle(&tree, branch).await.map(|_| true));
    }
    tally.finished()
}

/// Removes the marks of deletions older than `before`. Their own writes can't be applied any more, and no
/// client was told that the branch is gone.
///
/// # Errors
/// As [`sweep_creations`].
pub async fn sweep_deletions<G: Grown>(grown: &G, before: DateTime) -> Result<u64, Error> {
    let tree = grown.tree();
    let mut tally = SweepReport::default();
    for branch in tree.list_left_behind("deleting.at", before, MOST).await? {
        if let Some(mark) = branch.deleting() {
            let unmarked = tree.unmark_deleting(branch.id(), &mark.by).await.decided();
            tally.add(branch.id(), unmarked.map(|_| true));
        }
    }
    tally.finished()
}

/// Completes the fan-outs of changes older than `before`.
///
/// # Errors
/// As [`sweep_creations`].
pub async fn sweep_fan_outs<G: Grown>(grown: &G, before: DateTime) -> Result<u64, Error> {
    let tree = grown.tree();
    let mut tally = SweepReport::default();
    for branch in tree.list_left_behind("outbox.at", before, MOST).await? {
        let gone_on = async {
            if let Some((mut pass, _)) = Pass::begin(grown, branch.id()).await? {
                pass.go_on(grown, None).await?;
            }
            Ok(true)
        };
        tally.add(branch.id(), gone_on.await);
    }
    tally.finished()
}
