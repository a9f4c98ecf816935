//! Moves and deletes categories, and changes their slugs.

use super::{
    super::{
        documents::CategoryDocument,
        store::{self, Categories},
        types::{
            ChangeCategorySlugInput, ChangeCategorySlugResult, DeleteCategoryInput,
            DeleteCategoryResult, MoveCategoryInput, MoveCategoryResult, WouldMakeCircle,
        },
    },
    DEPTH, taken,
};
use crate::{
    error::Error,
    flow::Attempt,
    graphql::{
        cx::Cx,
        declared::Input,
        refusals::{InvalidInput, Stop},
        scalars::Slug,
    },
};

/// Changes the slug; the paths below are updated.
pub async fn change_category_slug(
    cx: Cx<'_>,
    input: ChangeCategorySlugInput,
) -> Result<CategoryDocument, Stop<ChangeCategorySlugResult>> {
    let (tree, input) = (&Categories::over(&cx), &input.checked()?);
    let (id, slug) = (&input.category_id, &input.slug);
    let change = |attempt: Attempt| async move {
        let found = tree.get_locked(id).await?;
        if let Some(changed) = store::set_slug(&cx, id, slug, &attempt).await.decided()? {
            return Ok(changed);
        }
        let parent = found.parent_id.as_deref();
        if !is_taken(cx, parent, slug, id).await? {
            return Err(attempt.overdue().into());
        }
        let above = match parent {
            Some(parent) => tree.find(parent).await?,
            None => None,
        };
        Err(taken(above.as_ref(), slug).into())
    };
    Ok(tree.carry(tree.locked(change).await?).await?)
}

/// Whether another category than `id` has the slug below that parent.
async fn is_taken(cx: Cx<'_>, parent: Option<&str>, slug: &Slug, id: &str) -> Result<bool, Error> {
    let holder = store::find_below(&cx, parent, slug).await?;
    Ok(holder.is_some_and(|holder| holder.id != id))
}

/// Moves a category with everything below it.
pub async fn move_category(
    cx: Cx<'_>,
    input: MoveCategoryInput,
) -> Result<CategoryDocument, Stop<MoveCategoryResult>> {
    let (tree, input) = (&Categories::over(&cx), &input.checked()?);
    let id = &input.category_id;
    let change = |attempt: Attempt| async move {
        let category = tree.get_locked(id).await?;
        let parent = match &input.parent_id {
            None => None,
            Some(parent) => Some(tree.get_locked(parent).await?),
        };
        if let Some(parent) = &parent {
            let depth = tree.depth_below(&category, Some(parent)).await?;
            if depth.ok_or_else(|| WouldMakeCircle::new(id, &parent.id))? > DEPTH {
                let reason = format!("would make the tree deeper than {DEPTH} categories");
                return Err(InvalidInput::new("parentId", reason).into());
            }
        }
        let (parent, slug) = (parent.as_ref(), &category.slug);
        if let Some(moved) = store::set_parent(&cx, id, parent, &attempt).await.decided()? {
            return Ok(moved);
        }
        let above = parent.map(|parent| parent.id.as_str());
        if is_taken(cx, above, slug, id).await? {
            return Err(taken(parent, slug).into());
        }
        // The lease excludes other changes of the tree, so only the attempt's deadline can be the cause.
        Err(attempt.overdue().into())
    };
    Ok(tree.carry(tree.locked(change).await?).await?)
}

/// Deletes a category that has neither children nor products; returns its `_id`.
pub async fn delete_category(
    cx: Cx<'_>,
    input: DeleteCategoryInput,
) -> Result<String, Stop<DeleteCategoryResult>> {
    let input = input.checked()?;
    Categories::over(&cx).delete_locked(&input.category_id).await
}
