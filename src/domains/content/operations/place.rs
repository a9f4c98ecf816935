//! Moves and deletes content.

use super::{
    super::{
        store::{self, Nodes},
        types::{
            DeleteContentInput, DeleteContentResult, MoveContentInput, MoveContentResult, Shown,
            WouldContainItself,
        },
    },
    DEPTH,
    create::fits,
};
use crate::{
    flow::Attempt,
    graphql::{
        cx::Cx,
        declared::Input,
        refusals::{AlreadyExists, InvalidInput, Stop},
    },
};

/// Moves content with everything in it. Requests for the old paths are redirected to the new ones.
pub async fn move_content(
    cx: Cx<'_>,
    input: MoveContentInput,
) -> Result<Shown, Stop<MoveContentResult>> {
    let (tree, input) = (&Nodes::over(&cx), &input.checked()?);
    let id = &input.content_id;
    let change = |attempt: Attempt| async move {
        let node = tree.get_locked(id).await?;
        let parent = match &input.parent_id {
            None => None,
            Some(parent) => Some(tree.get_locked(parent).await?),
        };
        let parent = parent.as_ref();
        let above = parent.map(|parent| parent.id.as_str());
        let depth = tree.depth_below(&node, parent).await?;
        let depth = depth.ok_or_else(|| WouldContainItself::new(id, above.unwrap_or_default()))?;
        fits(parent, node.metadata.kind)?;
        if depth > DEPTH {
            let reason = format!("something would lie deeper than {DEPTH} steps");
            return Err(InvalidInput::new("parentId", reason).into());
        }
        let slug = input.slug.as_ref().unwrap_or(&node.metadata.slug);
        if above == node.metadata.parent_id.as_deref() && *slug == node.metadata.slug {
            return Ok((node, attempt.now()));
        }
        let moved = store::set_place(&cx, id, parent, slug, &attempt).await;
        if let Some(moved) = moved.decided()? {
            return Ok((moved, attempt.now()));
        }
        if store::has_slug(&cx, above, slug.as_str()).await? {
            let above = parent.map_or("", |parent| parent.metadata.path.as_str());
            let path = format!("{above}/{}", slug.as_str());
            return Err(AlreadyExists::new("content", path).into());
        }
        // The lease excludes other moves and deletions, so only the attempt's deadline can be the cause.
        Err(attempt.overdue().into())
    };
    let (moved, now) = tree.locked(change).await?;
    Ok(Shown::written(tree.carry(moved).await?, now))
}

/// Deletes content that contains nothing; returns its `_id`.
pub async fn delete_content(
    cx: Cx<'_>,
    input: DeleteContentInput,
) -> Result<String, Stop<DeleteContentResult>> {
    let input = input.checked()?;
    Nodes::over(&cx).delete_locked(&input.content_id).await
}
