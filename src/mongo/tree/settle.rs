//! Ends creations, and what was cut.

use mongodb::bson::DateTime;

use super::{Branch, Child, Grown, Pass, Tree};
use crate::{error::Error, mongo::Tally};

/// How many of a kind one sweep takes on.
const MOST: i64 = 100;

/// Ends a creation: the branch is held against its parent once more, or taken back where the parent is
/// gone or going. None where it was taken back. May be repeated by anyone.
///
/// # Errors
/// The outcome is unknown: the creation is still to be ended.
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
        // Someone else ended the creation, or moved the branch, in the meantime.
        let Some(again) = tree.find(branch.id()).await? else { return Ok(None) };
        branch = again;
    }
    Ok(Some(branch))
}

/// A branch as whoever holds the tree's lock takes it up: a creation that isn't over is ended, and a mark that a
/// cut deletion left behind, which can't write any more, is taken back.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn taken_up<T: Branch>(tree: &Tree<T>, id: &str) -> Result<Option<T>, Error> {
    let Some(found) = tree.find(id).await? else { return Ok(None) };
    let found = settle(tree, found).await?;
    match found.as_ref().and_then(|branch| branch.deleting().cloned()) {
        None => Ok(found),
        Some(mark) => match tree.unmark_deleting(id, &mark.by).await.decided()? {
            Some(unmarked) => Ok(Some(unmarked)),
            // The sweep was quicker.
            None => tree.find(id).await,
        },
    }
}

/// Lets a branch take over what its parent shows now; false where the parent is gone or going.
async fn follow<T: Branch>(tree: &Tree<T>, branch: &T) -> Result<bool, Error> {
    let Some(parent) = branch.parent_id() else { return Ok(true) };
    let parent = tree.find(parent).await?.filter(|parent| !parent.is_going());
    let Some(parent) = parent else { return Ok(false) };
    if parent.cv() > branch.parent_cv() {
        tree.update_children(&parent, Some(branch.id())).await?;
    }
    Ok(true)
}

/// Ends creations from before `before`; answers how many.
///
/// # Errors
/// The first trouble that there was; everything else was still tried.
pub async fn sweep_creations<G: Grown>(grown: &G, before: DateTime) -> Result<u64, Error> {
    let tree = grown.tree();
    let mut tally = Tally::default();
    for branch in tree.list_left_behind("copying", before, MOST).await? {
        let id = branch.id().to_owned();
        tally.add(&id, settle(&tree, branch).await.map(|_| true));
    }
    tally.finished()
}

/// Takes back deletions from before `before`: their own removals can't come any more, and nobody was
/// told that the branch is gone.
///
/// # Errors
/// As [`sweep_creations`].
pub async fn sweep_deletions<G: Grown>(grown: &G, before: DateTime) -> Result<u64, Error> {
    let tree = grown.tree();
    let mut tally = Tally::default();
    for branch in tree.list_left_behind("deleting.at", before, MOST).await? {
        if let Some(mark) = branch.deleting() {
            let unmarked = tree.unmark_deleting(branch.id(), &mark.by).await.decided();
            tally.add(branch.id(), unmarked.map(|_| true));
        }
    }
    tally.finished()
}

/// Carries changes from before `before` to everything below.
///
/// # Errors
/// As [`sweep_creations`].
pub async fn sweep_fan_outs<G: Grown>(grown: &G, before: DateTime) -> Result<u64, Error> {
    let tree = grown.tree();
    let mut tally = Tally::default();
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
