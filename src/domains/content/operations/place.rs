//! Moves and deletes content.

use super::super::{
    store::Nodes,
    types::{
        DeleteContentInput, DeleteContentResult, DeletedContent, MoveContentInput,
        MoveContentResult, Shown, WouldContainItself,
    },
};
use crate::graphql::prelude::*;

/// Moves content with everything in it. Requests for the old paths are redirected to the new ones.
pub async fn move_content(cx: Cx<'_>, input: MoveContentInput) -> Answer<MoveContentResult> {
    let (tree, input) = (Nodes::over(&cx), input.checked()?);
    let (id, slug) = (&input.content_id, input.slug.as_ref());
    let cycle = |content, parent| {
        WouldContainItself::because(
            "content can't be moved into itself or a descendant",
            content,
            parent,
        )
    };
    let (moved, now) = tree.relocate(id, &input.parent_id, slug, cycle).await?;
    Ok(Shown::written(moved, now))
}

/// Deletes content that contains nothing.
pub async fn delete_content(cx: Cx<'_>, input: DeleteContentInput) -> Answer<DeleteContentResult> {
    let input = input.checked()?;
    let id = Nodes::over(&cx).delete_locked(&input.content_id).await?;
    Ok(DeletedContent { id })
}
