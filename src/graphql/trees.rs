//! Common steps of the operations on trees: the lock for changes of the tree's shape, the fan-out of a
//! change, and the checks of a parent.

use std::time::Instant;

use super::{
    node_id::NodeKind,
    refusals::{NotFound, Stop},
};
use crate::{
    app::App,
    error::Error,
    flow::{
        Attempt,
        lease::Lease,
        tree::{Branch, Child, Grown, Pass, Tree, settle},
    },
};

/// Runs `work` under the tree's lease. `work` gets the attempt whose deadline bounds its writes. The lease is
/// released at the end, unless a write under it may still be applied; it then expires.
///
/// # Errors
/// The error of `work`; `Unavailable` if another holder has the lease.
pub async fn locked<G, T, U, F>(
    app: &App,
    work: impl FnOnce(Attempt) -> F + Send,
) -> Result<T, Stop<U>>
where
    G: Grown,
    F: Future<Output = Result<T, Stop<U>>> + Send,
{
    let (lease, attempt) =
        Lease::wait_for(app.collection(), G::LOCK, app.ids().random(), app.bounds()).await?;
    let done = work(attempt).await;
    lease.end(!matches!(done, Err(Stop::Failed(_)))).await;
    done
}

/// Copies a change that was just committed to all descendants and to the other documents that hold a copy.
/// The caller waits for the length of one attempt; the rest then continues in the background.
///
/// # Errors
/// `Unavailable` or `Internal`: the sweep continues.
pub async fn carry<G: Grown>(app: &App, grown: G, changed: G::Branch) -> Result<G::Branch, Error> {
    if changed.outbox().is_empty() {
        return Ok(changed);
    }
    let until = Instant::now() + app.bounds().attempt;
    // The branch was deleted right after the change, and no copies are left.
    let Some((mut pass, branch)) = Pass::begin(&grown, changed.id()).await? else {
        return Ok(changed);
    };
    if !pass.go_on(&grown, Some(until)).await? {
        app.behind(G::FAN_OUT, async move {
            pass.go_on(&grown, None).await?;
            Ok(())
        });
    }
    Ok(branch)
}

/// Returns a branch if it accepts changes and children. While its creation or deletion isn't finished, it is
/// unknown whether the branch exists: that is answered with a temporary error and not with a refusal.
///
/// # Errors
/// `NotFound`, or `Unavailable` while the creation or deletion isn't finished.
pub fn settled<B: Branch, U: From<NotFound>>(
    found: Option<B>,
    kind: NodeKind,
    id: &str,
) -> Result<B, Stop<U>> {
    match found {
        Some(found) if !found.is_copying() && !found.is_going() => Ok(found),
        Some(found) if found.is_copying() || found.deleting().is_some() => {
            Err(Error::unavailable("it is just being created or deleted").into())
        }
        _ => Err(NotFound::of(kind, id).into()),
    }
}

/// Finishes the creation of a branch that was just inserted or that a repeat found.
///
/// # Errors
/// `NotFound`: its parent doesn't exist any more. `Unavailable`: its parent is being deleted, or the outcome
/// is unknown.
pub async fn planted<B: Branch, U: From<NotFound>>(
    tree: &Tree<B>,
    kind: NodeKind,
    branch: B,
) -> Result<B, Stop<U>> {
    let parent = branch.parent_id().unwrap_or_default().to_owned();
    if let Some(planted) = settle(tree, branch).await? {
        return Ok(planted);
    }
    settled::<B, U>(tree.find(&parent).await?, kind, &parent)?;
    Err(Error::unavailable("what it was to be put into was just being deleted").into())
}
