//! Moves and deletions, and the lock that they hold.

use std::time::Instant;

use async_graphql::ID;

use super::{
    super::{
        documents::NodeDocument,
        store::{self, Nodes},
        types::{
            DeleteContentResult, MoveContentInput, MoveContentResult, Shown, WouldContainItself,
        },
    },
    DEPTH, changeable,
    create::fits,
    own_id,
};
use crate::{
    app::App,
    domains::assets,
    error::Error,
    graphql::{
        refusals::{AlreadyExists, InUse, InvalidInput, Stop},
        scalars::Slug,
    },
    mongo::{
        Run,
        lease::Lease,
        tree::{Pass, settle},
    },
};

/// Name of the tree's lock.
const LOCK: &str = "nodes.tree";

/// The tree's lock, and the run within which its holder writes.
async fn lock(app: &App) -> Result<(Lease, Run), Error> {
    Lease::wait_for(app.collection(), LOCK, app.ids().random(), app.bounds()).await
}

/// Gives the lock back, unless a write under it may yet be applied: then it runs out.
async fn unlock<T, U>(lease: Lease, done: &Result<T, Stop<U>>) {
    lease.end(!matches!(done, Err(Stop::Failed(_)))).await;
}

/// Moves content with everything in it; the paths that are left lead on to the new ones.
///
/// # Errors
/// A refusal, or trouble.
pub async fn move_to(
    app: &App,
    asked: &MoveContentInput,
) -> Result<Shown, Stop<MoveContentResult>> {
    let id = own_id("content", &asked.content)?;
    let parent = asked.parent.as_ref().map(|parent| own_id("parent", parent)).transpose()?;
    let (lease, run) = lock(app).await?;
    let done = move_locked(app, &id, parent.as_deref(), asked.slug.as_ref(), &run).await;
    unlock(lease, &done).await;
    Ok(Shown::written(carry(app, done?).await?, run.now()))
}

async fn move_locked(
    app: &App,
    id: &str,
    parent: Option<&str>,
    slug: Option<&Slug>,
    run: &Run,
) -> Result<NodeDocument, Stop<MoveContentResult>> {
    let node = taken_up(app, id).await?;
    let parent = match parent {
        None => None,
        Some(parent) => Some(taken_up(app, parent).await?),
    };
    let mut above = 0;
    if let Some(parent) = &parent {
        above = height_without_circle(app, id, parent).await?;
    }
    fits(parent.as_ref(), node.metadata.kind)?;
    let deepest = store::find_depth_below(app, &node.metadata.path).await?;
    let below = deepest.saturating_sub(node.within.len() - 1);
    if above + 1 + below > DEPTH {
        let reason = format!("something would lie deeper than {DEPTH} steps");
        return Err(InvalidInput::new("parent", reason).into());
    }
    let slug = slug.unwrap_or(&node.metadata.slug);
    let stays = parent.as_ref().map(|parent| &parent.id) == node.metadata.parent_id.as_ref();
    if stays && *slug == node.metadata.slug {
        return Ok(node);
    }
    if let Some(moved) = store::set_place(app, id, parent.as_ref(), slug, run).await.decided()? {
        return Ok(moved);
    }
    if store::has_slug(app, parent.as_ref().map(|parent| parent.id.as_str()), slug.as_str()).await?
    {
        let above = parent.as_ref().map_or("", |parent| parent.metadata.path.as_str());
        return Err(AlreadyExists::new("content", format!("{above}/{}", slug.as_str())).into());
    }
    // Nobody else deletes it or changes places as long as the run lasts.
    Err(run.overdue().into())
}

/// Content as it takes changes under the lock: a creation that isn't over is ended, and a mark was left
/// behind by a deletion that was cut, which can't write any more.
async fn taken_up(app: &App, id: &str) -> Result<NodeDocument, Stop<MoveContentResult>> {
    let tree = store::tree(app);
    let mut found = store::find(app, id).await?;
    if let Some(node) = found {
        found = settle(&tree, node).await?;
    }
    if let Some(mark) = found.as_ref().and_then(|node| node.deleting.clone()) {
        found = tree.unmark_deleting(id, &mark.by).await.decided()?;
    }
    changeable(found, id)
}

/// How many steps lead from `parent` up to its root, itself included. They are gone by `parentId`, which
/// only changes under the lock; `within` may lag behind.
async fn height_without_circle(
    app: &App,
    id: &str,
    parent: &NodeDocument,
) -> Result<usize, Stop<MoveContentResult>> {
    let mut height = 1;
    let mut step = (parent.id.clone(), parent.metadata.parent_id.clone());
    loop {
        if step.0 == id {
            return Err(WouldContainItself::new(id, &parent.id).into());
        }
        let Some(above) = step.1 else { return Ok(height) };
        let Some(above) = store::find(app, &above).await? else { return Ok(height) };
        step = (above.id, above.metadata.parent_id);
        height += 1;
    }
}

/// Carries a change that was just decided to everything below. A caller waits for it for the time of one
/// run; what is left then goes on behind the answer.
async fn carry(app: &App, changed: NodeDocument) -> Result<NodeDocument, Error> {
    if changed.outbox.is_empty() {
        return Ok(changed);
    }
    let until = Instant::now() + app.bounds().run;
    let Some((mut pass, node)) = Pass::begin(&Nodes(app), &changed.id).await? else {
        return Ok(changed);
    };
    if !pass.go_on(&Nodes(app), Some(until)).await? {
        let behind = app.clone();
        app.behind("a path's fan-out", async move {
            pass.go_on(&Nodes(&behind), None).await?;
            Ok(())
        });
    }
    Ok(node)
}

/// Deletes content in which nothing lies; answers with its own id.
///
/// # Errors
/// A refusal, or trouble.
pub async fn delete(app: &App, content: &ID) -> Result<String, Stop<DeleteContentResult>> {
    let id = own_id("content", content)?;
    let (lease, run) = lock(app).await?;
    let done = delete_locked(app, id, &run).await;
    unlock(lease, &done).await;
    done
}

async fn delete_locked(
    app: &App,
    id: String,
    run: &Run,
) -> Result<String, Stop<DeleteContentResult>> {
    let by = app.ids().random();
    if store::mark_deleting(app, &id, &by, run).await.decided()?.is_none() {
        return match store::find(app, &id).await? {
            // A repeat is answered as the first call.
            Some(found) if found.deleted_at.is_some() => Ok(id),
            found => {
                changeable::<DeleteContentResult>(found, &id)?;
                Err(run.overdue().into())
            }
        };
    }
    // From the mark on nobody begins to put anything into it; who began before is counted, or sees the
    // mark when reading it again.
    if let Some(refusal) = in_use(app, &id).await? {
        store::tree(app).unmark_deleting(&id, &by).await.decided()?;
        return Err(refusal.into());
    }
    if store::bury(app, &id, &by, run).await.decided()?.is_none()
        && store::find(app, &id).await?.is_some_and(|found| found.deleted_at.is_none())
    {
        return Err(run.overdue().into());
    }
    Ok(id)
}

async fn in_use(app: &App, id: &str) -> Result<Option<InUse>, Error> {
    if store::tree(app).has_children(id).await? {
        return Ok(Some(InUse::because("other content lies in it")));
    }
    if assets::operations::is_parent(app, id).await? {
        return Ok(Some(InUse::because("assets lie in it")));
    }
    Ok(None)
}
