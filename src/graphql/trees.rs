//! Operations on trees: whom they build upon, the lock that changes of shape hold, and what goes on behind an
//! answer.

use std::time::Instant;

use super::{
    node_id::NodeKind,
    refusals::{NotFound, Stop},
};
use crate::{
    app::App,
    error::Error,
    mongo::{
        Run,
        lease::Lease,
        tree::{Branch, Child, Grown, Pass, Tree, settle},
    },
};

/// Does `work` under the tree's lock, with the run within which its holder writes. The lock is given back
/// unless a write under it may yet be applied: then it runs out.
///
/// # Errors
/// What `work` says; `Unavailable`: another holds the lock.
pub async fn locked<G, T, U, F>(app: &App, work: impl FnOnce(Run) -> F + Send) -> Result<T, Stop<U>>
where
    G: Grown,
    F: Future<Output = Result<T, Stop<U>>> + Send,
{
    let (lease, run) =
        Lease::wait_for(app.collection(), G::LOCK, app.ids().random(), app.bounds()).await?;
    let done = work(run).await;
    lease.end(!matches!(done, Err(Stop::Failed(_)))).await;
    done
}

/// Carries a change that was just decided to everything below and to copies elsewhere. A caller waits for it
/// for the time of one run; what is left then goes on behind the answer.
///
/// # Errors
/// `Unavailable` or `Internal`: the sweep goes on with it.
pub async fn carry<G: Grown>(app: &App, grown: G, changed: G::Branch) -> Result<G::Branch, Error> {
    if changed.outbox().is_empty() {
        return Ok(changed);
    }
    let until = Instant::now() + app.bounds().run;
    // Gone: deleted right after the change, with nothing left that could show it.
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

/// A branch that was found, where it takes changes and can be built upon. While its creation or deletion isn't
/// over nobody can say whether it is there: that is trouble, which passes, and no refusal.
///
/// # Errors
/// `NotFound`, or `Unavailable`.
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

/// Ends the creation of a branch that was just inserted, or that a repeat found.
///
/// # Errors
/// `NotFound`: its parent is gone. `Unavailable`: its parent was just being deleted, or the outcome is unknown.
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
