//! Operations on the trees of rooms: creations, moves, changes of slugs, deletions, the lock of the tree, and the
//! fan-outs.

use std::{collections::BTreeMap, time::Instant};

use async_graphql::MaybeUndefined;
use mongodb::bson::DateTime;

use crate::{
    flow::{
        lease::Lease,
        tree::{Branch, Deleted, Pass, Tree, path_below},
    },
    graphql::{prelude::*, refusals::Refusal},
    mongo::Sends,
};

/// A document with a global id in the tree of a room.
pub trait Node: Branch<Handles = App> {
    /// Its kind.
    const KIND: NodeKind;

    /// Digest of the input that created it; it distinguishes a repeat from another use of the idempotency key.
    fn input(&self) -> &str;

    /// Checks that it may be placed in `parent`, or at the root.
    fn fits(&self, _parent: Option<&Self>) -> Result<(), InvalidInput> {
        Ok(())
    }
}

/// Maximum depth of a tree. It is checked when a branch is created or moved, against the state at that moment. It
/// limits the cost of an operation; nothing else depends on it.
const DEPTH: usize = 16;

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

impl From<NotFound> for Unsettled {
    fn from(refusal: NotFound) -> Self {
        Self::Missing(refusal)
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

    async fn parent_locked(&self, id: Option<&str>) -> Result<Option<T>, Unsettled> {
        match id {
            None => Ok(None),
            Some(id) => self.get_locked(id).await.map(Some),
        }
    }

    /// Runs `work` under the tree's lease. `work` gets the attempt whose deadline bounds its writes, and also returns how
    /// often they were sent. The lease is released at the end, unless a write under it may still be applied; it then
    /// expires.
    ///
    /// # Errors
    /// The error of `work`; `Unavailable` if another holder has the lease.
    pub async fn locked<R, U, F>(
        &self,
        work: impl FnOnce(Attempt) -> F + Send,
    ) -> Result<R, Stop<U>>
    where
        F: Future<Output = Result<(R, Sends), Stop<U>>> + Send,
    {
        let app = &self.handles;
        let (lease, attempt) =
            Lease::wait_for(app.collection(), T::LOCK, app.ids().random(), app.bounds()).await?;
        let done = work(attempt).await;
        // A first copy that arrives later could otherwise undo a change of the next holder.
        let may_come = matches!(done, Err(Stop::Failed(_)) | Ok((_, Sends::Twice)));
        lease.end(!may_come).await;
        done.map(|(result, _sends)| result)
    }

    /// Creates a branch below `parent`, or a root, once per op: its `_id` is the op's id. `new` makes the document
    /// with copies of the parent's values; afterwards the parent is read again and compared. Also returns the
    /// server's time.
    pub async fn create<U>(
        &self,
        op: &Op,
        parent: Option<&str>,
        new: impl FnOnce(Option<&T>, DateTime) -> T,
    ) -> Result<(T, DateTime), Stop<U>>
    where
        U: From<NotFound> + From<AlreadyExists> + From<Conflict> + From<InvalidInput>,
    {
        let (attempt, inserted) = match self.placed(parent, new).await {
            Ok((attempt, branch)) => match self.insert(&branch).await.decided()? {
                Some(()) => (attempt, branch),
                None => (attempt, self.inserted_before(op, &branch).await?),
            },
            // If the first call was applied, a repeat returns its result, whatever became of the parent.
            Err(Stop::Refused(refusal)) => {
                let app = &self.handles;
                match app.begin_with(&op.id).await? {
                    (attempt, Some(found)) => (attempt, repeated(found, op)?),
                    (_, None) => return Err(Stop::Refused(refusal)),
                }
            }
            Err(failed) => return Err(failed),
        };
        Ok((self.complete(inserted).await?, attempt.now()))
    }

    /// A new branch with the values of its parent, which is the attempt's first read.
    async fn placed<U>(
        &self,
        parent: Option<&str>,
        new: impl FnOnce(Option<&T>, DateTime) -> T,
    ) -> Result<(Attempt, T), Stop<U>>
    where
        U: From<NotFound> + From<InvalidInput>,
    {
        let (attempt, parent) = match parent {
            None => (self.handles.begin().await?, None),
            Some(id) => {
                let (attempt, parent) = self.open(id).await?;
                (attempt, Some(parent))
            }
        };
        let branch = new(parent.as_ref(), attempt.now());
        branch.fits(parent.as_ref())?;
        within_depth("parentId", branch.depth())?;
        Ok((attempt, branch))
    }

    /// The branch that the op inserted before, after a unique key was found taken.
    async fn inserted_before<U>(&self, op: &Op, branch: &T) -> Result<T, Stop<U>>
    where
        U: From<AlreadyExists> + From<Conflict>,
    {
        if let Some(found) = self.find(&op.id).await? {
            return Ok(repeated(found, op)?);
        }
        if self.find_below(branch.parent_id(), branch.slug()).await?.is_some() {
            return Err(AlreadyExists::new(T::KIND.name(), branch.path()).into());
        }
        Err(Error::unavailable("the slug was in use and is free again; try again").into())
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
        Err(Error::unavailable("the new parent is being deleted").into())
    }

    /// Moves a branch, with everything below it, into `parent`, or to the roots if that is null, and gives it this
    /// slug. What isn't given stays. `cycle` makes the refusal to move it below itself, from the global ids of branch and parent. Also
    /// returns the server's time.
    pub async fn relocate<U, R>(
        &self,
        id: &str,
        parent: &MaybeUndefined<ID>,
        slug: Option<&Slug>,
        cycle: impl FnOnce(ID, ID) -> R + Send,
    ) -> Result<(T, DateTime), Stop<U>>
    where
        U: From<NotFound> + From<AlreadyExists> + From<InvalidInput> + From<R> + Send,
        R: Refusal,
    {
        let change = |attempt: Attempt| async move {
            let branch = self.get_locked(id).await?;
            let parent = match parent {
                MaybeUndefined::Undefined => self.parent_locked(branch.parent_id()).await?,
                MaybeUndefined::Null => None,
                MaybeUndefined::Value(id) => Some(self.get_locked(id).await?),
            };
            let depth = match &parent {
                None => 0,
                Some(parent) => {
                    let depth = self.depth_below(&branch, parent).await?;
                    depth.ok_or_else(|| cycle(T::KIND.id(id), T::KIND.id(parent.id())))?
                }
            };
            branch.fits(parent.as_ref())?;
            within_depth("parentId", depth)?;
            let slug = slug.map_or(branch.slug(), Slug::as_str).to_owned();
            let (moved, sends) = self.place(branch, parent.as_ref(), &slug, &attempt).await?;
            Ok(((moved, attempt.now()), sends))
        };
        let (moved, now) = self.locked(change).await?;
        Ok((self.carry(moved).await?, now))
    }

    /// Changes the slug of a branch, and with it the paths of everything below it.
    pub async fn change_slug<U>(&self, id: &str, slug: &Slug) -> Result<T, Stop<U>>
    where
        U: From<NotFound> + From<AlreadyExists> + Send,
    {
        let change = |attempt: Attempt| async move {
            let branch = self.get_locked(id).await?;
            let parent = self.parent_locked(branch.parent_id()).await?;
            self.place(branch, parent.as_ref(), slug.as_str(), &attempt).await
        };
        Ok(self.carry(self.locked(change).await?).await?)
    }

    /// Writes the parent and the slug of a branch, for the holder of the tree's lock. Also returns how often the write was
    /// sent.
    async fn place<U: From<AlreadyExists>>(
        &self,
        branch: T,
        parent: Option<&T>,
        slug: &str,
        attempt: &Attempt,
    ) -> Result<(T, Sends), Stop<U>> {
        let parent_id = parent.map(T::id);
        if parent_id == branch.parent_id() && slug == branch.slug() {
            return Ok((branch, Sends::Once));
        }
        let change = self.handles.ids().random();
        let moved = self.move_below(branch.id(), parent, slug, change, attempt).await?;
        if let Some(moved) = moved {
            return Ok(moved);
        }
        if self.find_below(parent_id, slug).await?.is_some() {
            return Err(AlreadyExists::new(T::KIND.name(), path_below(parent, slug)).into());
        }
        // The lease excludes other changes of the tree, so only the attempt's deadline can be the cause.
        Err(attempt.overdue().into())
    }

    /// Deletes a branch that nothing uses; returns its global id.
    pub async fn delete_locked<U>(&self, id: &str) -> Result<ID, Stop<U>>
    where
        U: From<NotFound> + From<InUse> + Send,
    {
        let by = self.handles.ids().random();
        let delete = |attempt| async move { Ok(self.delete(id, &by, &attempt).await?) };
        match self.locked(delete).await? {
            Deleted::Deleted => Ok(T::KIND.id(id)),
            Deleted::Missing => Err(NotFound::of(T::KIND, id).into()),
            Deleted::InUse(reason) => Err(InUse::because(reason).into()),
        }
    }

    /// Copies a change that was just committed to all descendants and to the other documents that hold a copy.
    /// The caller waits for the length of one attempt; the rest then continues in the background. After an
    /// error, the sweep continues.
    pub async fn carry(&self, changed: T) -> Result<T, Error> {
        if changed.tree().outbox.is_empty() {
            return Ok(changed);
        }
        let until = Instant::now() + self.handles.bounds().attempt;
        // The branch was deleted right after the change, and no copies are left.
        let Some((mut pass, branch)) = Pass::begin(self, changed.id()).await? else {
            return Ok(changed);
        };
        if !pass.run(self, Some(until)).await? {
            let tree = self.clone();
            self.handles.in_background(T::FAN_OUT, async move {
                pass.run(&tree, None).await?;
                Ok(())
            });
        }
        Ok(branch)
    }
}

/// Returns a branch if it accepts changes and children. While its creation or deletion isn't finished, it is
/// unknown whether the branch exists: that is answered with a temporary error and not with a refusal.
fn settled<T: Node>(found: Option<T>, id: &str) -> Result<T, Unsettled> {
    match found {
        Some(found) if found.tree().copying.is_some() || found.tree().deleting.is_some() => {
            Err(Error::unavailable("the object is being created or deleted").into())
        }
        Some(found) if !found.is_deleted() => Ok(found),
        _ => Err(NotFound::of(T::KIND, id).into()),
    }
}

/// Returns the branch that an op created, if the input was the same.
fn repeated<T: Node>(found: T, op: &Op) -> Result<T, Conflict> {
    if found.input() != op.input {
        return Err(Conflict::other_input());
    }
    if found.is_deleted() {
        return Err(Conflict::deleted());
    }
    Ok(found)
}

/// Checks the depth of a branch that is created or moved. The refusal names `field`.
fn within_depth(field: &str, depth: usize) -> Result<(), InvalidInput> {
    if depth <= DEPTH {
        return Ok(());
    }
    let reason = format!("would make the tree deeper than {DEPTH} levels");
    Err(InvalidInput::new(field, reason))
}

/// Checks that a path isn't too long for a branch that is created. The refusal names `field`.
pub fn check_steps(field: &str, path: &str) -> Result<(), InvalidInput> {
    within_depth(field, path.matches('/').count())
}

/// The branches of a line, from the root down to `id`, as their parents imply it. This is for invariants: an error
/// says what is wrong.
pub fn line_to<'a, B>(
    tree: &'a BTreeMap<String, B>,
    id: &str,
    parent: impl Fn(&B) -> Option<&str>,
) -> Result<Vec<&'a B>, String> {
    let mut line = Vec::new();
    let mut next = Some(id);
    while let Some(step) = next {
        if line.len() > tree.len() {
            return Err(format!("{id:?} is its own ancestor"));
        }
        let branch = tree.get(step).ok_or_else(|| format!("{id:?} lies in {step:?}, gone"))?;
        line.push(branch);
        next = parent(branch);
    }
    line.reverse();
    Ok(line)
}
