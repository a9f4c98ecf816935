//! Moves and deletes content.

use async_graphql::ID;
use mongodb::bson::DateTime;

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
    flow::{Attempt, tree::taken_up},
    graphql::{
        refusals::{AlreadyExists, InUse, InvalidInput, Stop},
        scalars::Slug,
        trees::{carry, locked},
    },
};

/// Moves content with everything in it. Requests for the old paths are redirected to the new ones.
pub async fn move_to(
    app: &App,
    asked: &MoveContentInput,
) -> Result<Shown, Stop<MoveContentResult>> {
    let id = own_id(&asked.content)?;
    let parent = asked.parent.as_ref().map(|parent| own_id(parent)).transpose()?;
    let work = |attempt| move_locked(app, &id, parent.as_deref(), asked.slug.as_ref(), attempt);
    let (moved, now) = locked::<Nodes, _, _, _>(app, work).await?;
    Ok(Shown::written(carry(app, Nodes(app.clone()), moved).await?, now))
}

async fn move_locked(
    app: &App,
    id: &str,
    parent: Option<&str>,
    slug: Option<&Slug>,
    attempt: Attempt,
) -> Result<(NodeDocument, DateTime), Stop<MoveContentResult>> {
    let tree = store::tree(app);
    let node = changeable::<MoveContentResult>(taken_up(&tree, id).await?, id)?;
    let parent = match parent {
        None => None,
        Some(parent) => {
            Some(changeable::<MoveContentResult>(taken_up(&tree, parent).await?, parent)?)
        }
    };
    let mut above = 0;
    if let Some(parent) = &parent {
        let height = tree.height_without(id, parent).await?;
        above = height.ok_or_else(|| WouldContainItself::new(id, &parent.id))?;
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
        return Ok((node, attempt.now()));
    }
    let moved = store::set_place(app, id, parent.as_ref(), slug, &attempt).await;
    if let Some(moved) = moved.decided()? {
        return Ok((moved, attempt.now()));
    }
    if store::has_slug(app, parent.as_ref().map(|parent| parent.id.as_str()), slug.as_str()).await?
    {
        let above = parent.as_ref().map_or("", |parent| parent.metadata.path.as_str());
        return Err(AlreadyExists::new("content", format!("{above}/{}", slug.as_str())).into());
    }
    // The lease excludes other moves and deletions, so only the attempt's deadline can be the cause.
    Err(attempt.overdue().into())
}

/// Deletes content that contains nothing; returns its `_id`.
pub async fn delete(app: &App, content: &ID) -> Result<String, Stop<DeleteContentResult>> {
    let id = own_id(content)?;
    locked::<Nodes, _, _, _>(app, |attempt| delete_locked(app, id, attempt)).await
}

async fn delete_locked(
    app: &App,
    id: String,
    attempt: Attempt,
) -> Result<String, Stop<DeleteContentResult>> {
    let by = app.ids().random();
    if store::mark_deleting(app, &id, &by, &attempt).await.decided()?.is_none() {
        return match store::find(app, &id).await? {
            // A repeat is answered like the first call.
            Some(found) if found.deleted_at.is_some() => Ok(id),
            found => {
                changeable::<DeleteContentResult>(found, &id)?;
                Err(attempt.overdue().into())
            }
        };
    }
    // From the mark on, no new content or asset is placed in it. One that was begun before is counted here,
    // or sees the mark when it reads its parent again.
    if let Some(refusal) = in_use(app, &id).await? {
        store::tree(app).unmark_deleting(&id, &by).await.decided()?;
        return Err(refusal.into());
    }
    if store::bury(app, &id, &by, &attempt).await.decided()?.is_none()
        && store::find(app, &id).await?.is_some_and(|found| found.deleted_at.is_none())
    {
        return Err(attempt.overdue().into());
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
