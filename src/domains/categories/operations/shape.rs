//! Creates, moves and deletes categories, and changes their slugs.

use mongodb::bson::DateTime;

use super::super::{
    documents::{CategoryDocument, Names},
    store::Categories,
    types::{
        ChangeCategorySlugInput, ChangeCategorySlugResult, CreateCategoryInput,
        CreateCategoryResult, DeleteCategoryInput, DeleteCategoryResult, DeletedCategory,
        MoveCategoryInput, MoveCategoryResult, WouldCreateCycle, names_of,
    },
};
use crate::{
    flow::tree::{TreeFields, path_below},
    graphql::prelude::*,
    mongo::Version,
};

/// Creates a category, once per idempotency key.
pub async fn create_category(
    cx: Cx<'_>,
    input: CreateCategoryInput,
) -> Answer<CreateCategoryResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let op = cx.op(&[subject, "createCategory"], &input);
    let parent = input.parent_id.as_ref().map(|parent| parent.as_str());
    create(&cx, op, input.slug.clone(), names_of(&input.names), parent).await
}

/// Creates a category from checked input; its `_id` is the op's id.
pub(crate) async fn create<U>(
    app: &App,
    op: Op,
    slug: Slug,
    names: Names,
    parent: Option<&str>,
) -> Result<CategoryDocument, Stop<U>>
where
    U: From<NotFound> + From<AlreadyExists> + From<Conflict> + From<InvalidInput>,
{
    let new = |parent: Option<&CategoryDocument>, now: DateTime| CategoryDocument {
        path: path_below(parent, slug.as_str()),
        parent_path: parent.map_or(TOP, |parent| &parent.path).to_owned(),
        parent_id: parent.map(|parent| parent.id.clone()),
        ancestors: parent.map(CategoryDocument::line).unwrap_or_default(),
        tree: TreeFields::new(parent.map(|parent| &parent.tree), now),
        id: op.id.clone(),
        slug,
        names,
        meta: None,
        images: None,
        input: op.input.clone(),
        v: Version,
    };
    let (created, _) = Categories::over(app).create(&op, parent, new).await?;
    Ok(created)
}

/// Changes the slug; the paths below are updated.
pub async fn change_category_slug(
    cx: Cx<'_>,
    input: ChangeCategorySlugInput,
) -> Answer<ChangeCategorySlugResult> {
    let input = input.checked()?;
    Categories::over(&cx).change_slug(&input.category_id, &input.slug).await
}

/// Moves a category with everything below it.
pub async fn move_category(cx: Cx<'_>, input: MoveCategoryInput) -> Answer<MoveCategoryResult> {
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
) -> Answer<DeleteCategoryResult> {
    let input = input.checked()?;
    let id = Categories::over(&cx).delete_locked(&input.category_id).await?;
    Ok(DeletedCategory { id })
}
