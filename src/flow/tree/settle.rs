//! Completes creations, and recovers from interrupted creations, deletions and fan-outs.

use super::{Branch, Pass, Tree};
use crate::{error::Error, flow::Sweep};

/// Number of branches that one command of the sweep reads.
const LIMIT: i64 = 100;

impl<T: Branch> Tree<T> {
    /// Completes a creation: updates the branch from its parent once more, or removes the branch if the parent is
    /// deleted or being deleted. Returns `None` if it was removed. Any caller may repeat this.
    ///
    /// # Errors
    /// The outcome is unknown; the creation still has to be completed.
    pub async fn settle(&self, mut branch: T) -> Result<Option<T>, Error> {
        while branch.tree().copying.is_some() {
            let ended = if self.follow(&branch).await? {
                self.confirm(&branch).await?.map(Some)
            } else {
                self.remove_unconfirmed(&branch).await.decided()?.map(|()| None)
            };
            if let Some(ended) = ended {
                return Ok(ended);
            }
            // Another caller has completed the creation or moved the branch.
            let Some(again) = self.find(branch.id()).await? else { return Ok(None) };
            branch = again;
        }
        Ok(Some(branch))
    }

    /// Reads a branch for the holder of the tree's lock. Completes an incomplete creation, and removes the mark of
    /// an interrupted deletion, whose attempt can't write any more.
    pub async fn find_for_change(&self, id: &str) -> Result<Option<T>, Error> {
        let Some(found) = self.find(id).await? else { return Ok(None) };
        let found = self.settle(found).await?;
        match found.as_ref().and_then(|branch| branch.tree().deleting.clone()) {
            None => Ok(found),
            Some(mark) => match self.unmark_deleting(id, &mark.by).await? {
                Some(unmarked) => Ok(Some(unmarked)),
                // A sweep has removed the mark meanwhile.
                None => self.find(id).await,
            },
        }
    }

    /// Updates a branch from the current state of its parent. Returns false if the parent is deleted or being
    /// deleted.
    async fn follow(&self, branch: &T) -> Result<bool, Error> {
        let Some(parent) = branch.parent_id() else { return Ok(true) };
        let parent = self.find(parent).await?.filter(|parent| !parent.is_being_removed());
        let Some(parent) = parent else { return Ok(false) };
        if parent.tree().cv > branch.tree().parent_cv {
            self.update_children(&parent, Some(branch.id())).await?;
        }
        Ok(true)
    }

    /// Finishes interrupted operations on the tree: creations, deletions, and the fan-outs of changes.
    pub async fn sweep(&self, sweep: &mut Sweep) {
        let before = sweep.unchanged_before();
        let complete = |branch| async move { self.settle(branch).await.map(|_| true) };
        let copying = |from, limit| self.list_between("copying", from, before, limit);
        sweep.each_page("creations", LIMIT, copying, complete).await;
        // The writes of a deletion this old can't be applied any more, and no client got a success
        // response.
        let unmark = |branch: T| async move {
            let Some(mark) = &branch.tree().deleting else { return Ok(false) };
            self.unmark_deleting(branch.id(), &mark.by).await.map(|_| true)
        };
        let deleting = |from, limit| self.list_between("deleting.at", from, before, limit);
        sweep.each_page("deletions", LIMIT, deleting, unmark).await;
        let fan_out = |branch: T| async move {
            if let Some((mut pass, _)) = Pass::begin(self, branch.id()).await? {
                pass.run(self, None).await?;
            }
            Ok(true)
        };
        let by = ("outbox.at", T::OUTBOX);
        let owing = |from, limit| self.list_elements_between(by, from, before, limit);
        sweep.each_page("fan-outs", LIMIT, owing, fan_out).await;
    }
}
