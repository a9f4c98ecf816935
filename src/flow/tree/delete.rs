//! Deletes branches: marks the branch, searches for documents that use it, then removes it or the mark.

use super::{Branch, Tree};
use crate::{error::Error, flow::Attempt, mongo::Sends};

/// The result of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deleted {
    /// The branch is deleted, by this deletion or before.
    Deleted,
    /// There is no such branch.
    Missing,
    /// It isn't deleted because other documents use it, such as its children.
    InUse(&'static str),
}

impl<T: Branch> Tree<T> {
    /// Deletes an unused branch, for the holder of the tree's lock. `by` identifies the deletion. Also returns how often
    /// the mark was sent.
    ///
    /// # Errors
    /// The outcome is unknown. The next holder of the lock or the sweep removes the mark.
    pub async fn delete(
        &self,
        id: &str,
        by: &str,
        attempt: &Attempt,
    ) -> Result<(Deleted, Sends), Error> {
        let Some(sends) = self.mark_deleting(id, by, attempt).await? else {
            return match self.find(id).await? {
                None => Ok((Deleted::Missing, Sends::Once)),
                // A repeat is answered like the first call.
                Some(found) if found.is_deleted() => Ok((Deleted::Deleted, Sends::Once)),
                Some(_) => Err(attempt.overdue()),
            };
        };
        // Operations that begin after the mark don't use the branch. Earlier ones are found here, or find the mark
        // when they read the branch again.
        let in_use = if self.has_children(id).await? {
            Some(T::HAS_CHILDREN)
        } else {
            T::in_use(&self.handles, id).await?
        };
        if let Some(reason) = in_use {
            self.unmark_deleting(id, by).await?;
            return Ok((Deleted::InUse(reason), sends));
        }
        if !self.remove_marked(id, by, attempt).await?
            && self.find(id).await?.is_some_and(|found| !found.is_deleted())
        {
            return Err(attempt.overdue());
        }
        Ok((Deleted::Deleted, sends))
    }
}
