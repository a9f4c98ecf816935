//! Operations on the trees of rooms: the lock for changes of a tree's shape, the fan-out of a change, and the
//! checks of a parent.

use std::time::Instant;

use crate::{
    app::App,
    error::Error,
    flow::{
        Attempt,
        lease::Lease,
        tree::{Branch, Deleted, Pass, Tree},
    },
    graphql::{
        node_id::NodeKind,
        refusals::{InUse, NotFound, Stop},
    },
};

/// A document with a global id in the tree of a room.
pub trait Node: Branch<Handles = App> {
    /// Its kind.
    const KIND: NodeKind;
}

/// Why a branch can't be used: it doesn't exist, or that is unknown.
#[derive(Debug)]
pub enum Unsettled {
    /// It doesn't exist.
    Missing(NotFound),
    /// Its creation or deletion isn't finished, or the read failed.
    Unknown(Error),
}

impl From<Error> for Unsettled {
    fn from(error: Error) -> Self {
        Self::Unknown(error)
    }
}

impl<U: From<NotFound>> From<Unsettled> for Stop<U> {
    fn from(unsettled: Unsettled) -> Self {
        match unsettled {
            Unsettled::Missing(refusal) => refusal.into(),
            Unsettled::Unknown(error) => error.into(),
        }
    }
}

impl<T: Node> Tree<T> {
    /// The tree of these documents.
    pub fn over(app: &App) -> Self {
        Self::of(app.collection(), app.collection(), app.clone())
    }

    /// Begins an attempt with a branch that accepts changes and children as its first read.
    pub async fn open(&self, id: &str) -> Result<(Attempt, T), Unsettled> {
        let app = &self.handles;
        let (attempt, found) = app.begin_with(id).await?;
        Ok((attempt, settled(found, id)?))
    }

    /// Returns a branch that accepts changes and children.
    pub async fn get(&self, id: &str) -> Result<T, Unsettled> {
        settled(self.find(id).await?, id)
    }

    /// Returns a branch for the holder of the tree's lock; see [`Self::find_for_change`].
    pub async fn get_locked(&self, id: &str) -> Result<T, Unsettled> {
        settled(self.find_for_change(id).await?, id)
    }

    /// Runs `work` under the tree's lease. `work` gets the attempt whose deadline bounds its writes. The lease
    /// is released at the end, unless a write under it may still be applied; it then expires.
    ///
    /// # Errors
    /// The error of `work`; `Unavailable` if another holder has the lease.
    pub async fn locked<R, U, F>(
        &self,
        work: impl FnOnce(Attempt) -> F + Send,
    ) -> Result<R, Stop<U>>
    where
        F: Future<Output = Result<R, Stop<U>>> + Send,
    {
        let app = &self.handles;
        let (lease, attempt) =
            Lease::wait_for(app.collection(), T::LOCK, app.ids().random(), app.bounds()).await?;
        let done = work(attempt).await;
        lease.end(!matches!(done, Err(Stop::Failed(_)))).await;
        done
    }

    /// Copies a change that was just committed to all descendants and to the other documents that hold a copy.
    /// The caller waits for the length of one attempt; the rest then continues in the background. After an
    /// error, the sweep continues.
    pub async fn carry(&self, changed: T) -> Result<T, Error> {
        if changed.outbox().is_empty() {
            return Ok(changed);
        }
        let until = Instant::now() + self.handles.bounds().attempt;
        // The branch was deleted right after the change, and no copies are left.
        let Some((mut pass, branch)) = Pass::begin(self, changed.id()).await? else {
            return Ok(changed);
        };
        if !pass.run(self, Some(until)).await? {
            let tree = self.clone();
            self.handles.behind(T::FAN_OUT, async move {
                pass.run(&tree, None).await?;
                Ok(())
            });
        }
        Ok(branch)
    }

    /// Finishes the creation of a branch that was just inserted or that a repeat found.
    ///
    /// # Errors
    /// `Missing`: its parent doesn't exist any more. `Unknown`: its parent is being deleted, or the outcome is
    /// unknown.
    pub async fn complete(&self, branch: T) -> Result<T, Unsettled> {
        let parent = branch.parent_id().unwrap_or_default().to_owned();
        if let Some(complete) = self.settle(branch).await? {
            return Ok(complete);
        }
        self.get(&parent).await?;
        Err(Error::unavailable("what it was to be put into was just being deleted").into())
    }

    /// Deletes a branch that nothing uses; returns its `_id`.
    pub async fn delete_locked<U>(&self, id: &str) -> Result<String, Stop<U>>
    where
        U: From<NotFound> + From<InUse> + Send,
    {
        let by = self.handles.ids().random();
        let delete = |attempt| async move { Ok(self.delete(id, &by, &attempt).await?) };
        match self.locked(delete).await? {
            Deleted::Deleted => Ok(id.to_owned()),
            Deleted::Missing => Err(NotFound::of(T::KIND, id).into()),
            Deleted::InUse(reason) => Err(InUse::because(reason).into()),
        }
    }
}

/// Returns a branch if it accepts changes and children. While its creation or deletion isn't finished, it is
/// unknown whether the branch exists: that is answered with a temporary error and not with a refusal.
pub fn settled<T: Node>(found: Option<T>, id: &str) -> Result<T, Unsettled> {
    match found {
        Some(found) if !found.is_copying() && !found.is_being_removed() => Ok(found),
        Some(found) if found.is_copying() || found.deleting().is_some() => {
            Err(Error::unavailable("it is just being created or deleted").into())
        }
        _ => Err(NotFound::of(T::KIND, id).into()),
    }
}

impl From<NotFound> for Unsettled {
    fn from(refusal: NotFound) -> Self {
        Self::Missing(refusal)
    }
}
