//! Moves and deletes categories, and changes their slugs.

use super::super::{
    documents::CategoryDocument,
    store::Categories,
    types::{
        ChangeCategorySlugInput, ChangeCategorySlugResult, DeleteCategoryInput,
        DeleteCategoryResult, DeletedCategory, MoveCategoryInput, MoveCategoryResult,
        WouldCreateCycle,
    },
};
use crate::graphql::{cx::Cx, declared::Input, refusals::Stop};

/// Changes the slug; the paths below are updated.
pub async fn change_category_slug(
    cx: Cx<'_>,
    input: ChangeCategorySlugInput,
) -> Result<CategoryDocument, Stop<ChangeCategorySlugResult>> {
    let input = input.checked()?;
    Categories::over(&cx).change_slug(&input.category_id, &input.slug).await
}

/// Moves a category with everything below it.
pub async fn move_category(
    cx: Cx<'_>,
    input: MoveCategoryInput,
) -> Result<CategoryDocument, Stop<MoveCategoryResult>> {
    let (tree, input) = (Categories::over(&cx), input.checked()?);
    let cycle = |category, parent| {
        WouldCreateCycle::because(
            "a category can't be moved into itself or a descendant",
            category,
            parent,
        )
    };
    let (moved, _) = tree.relocate(&input.category_id, &input.parent_id, None, cycle).await?;
    Ok(moved)
}

/// Deletes a category that has neither children nor products.
pub async fn delete_category(
    cx: Cx<'_>,
    input: DeleteCategoryInput,
) -> Result<DeletedCategory, Stop<DeleteCategoryResult>> {
    let input = input.checked()?;
    let id = Categories::over(&cx).delete_locked(&input.category_id).await?;
    Ok(DeletedCategory { id })
}
