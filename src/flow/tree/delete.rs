//! Deletes branches: marks the branch, searches for what uses it, then removes it or the mark.

use super::{Branch, Tree};
use crate::{error::Error, flow::Attempt};

/// How a deletion ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deleted {
    /// The branch is deleted, by this deletion or before.
    Deleted,
    /// There is no such branch.
    Missing,
    /// It isn't deleted because something uses it, such as its children.
    InUse(&'static str),
}

impl<T: Branch> Tree<T> {
    /// Deletes a branch that nothing uses, for the holder of the tree's lock. `by` identifies the deletion.
    ///
    /// # Errors
    /// The outcome is unknown. The next holder of the lock or the sweep removes the mark.
    pub async fn delete(&self, id: &str, by: &str, attempt: &Attempt) -> Result<Deleted, Error> {
        if self.mark_deleting(id, by, attempt).await.decided()?.is_none() {
            return match self.find(id).await? {
                None => Ok(Deleted::Missing),
                // A repeat is answered like the first call.
                Some(found) if found.is_deleted() => Ok(Deleted::Deleted),
                Some(_) => Err(attempt.overdue()),
            };
        }
        // From the mark on, nothing new uses it. What was begun before is found here, or sees the mark when it
        // reads the branch again.
        let in_use = if self.has_children(id).await? {
            Some(T::HAS_CHILDREN)
        } else {
            T::in_use(&self.handles, id).await?
        };
        if let Some(reason) = in_use {
            self.unmark_deleting(id, by).await.decided()?;
            return Ok(Deleted::InUse(reason));
        }
        if !self.bury(id, by, attempt).await?
            && self.find(id).await?.is_some_and(|found| !found.is_deleted())
        {
            return Err(attempt.overdue());
        }
        Ok(Deleted::Deleted)
    }
}
