//! Creates categories.

use mongodb::bson::DateTime;

use super::super::{
    documents::{CategoryDocument, Names},
    store::Categories,
    types::{CreateCategoryInput, CreateCategoryResult, names_of},
};
use crate::{
    app::App,
    flow::{
        Op,
        tree::{TreeFields, path_below},
    },
    graphql::{cx::Cx, declared::Input, input::TOP, refusals::Stop, scalars::Slug},
    mongo::Version,
};

/// Creates a category, once per idempotency key.
pub async fn create_category(
    cx: Cx<'_>,
    input: CreateCategoryInput,
) -> Result<CategoryDocument, Stop<CreateCategoryResult>> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let op = cx.op(&[subject, "createCategory"], input.idempotency_key.as_ref(), &*input);
    let parent = input.parent_id.as_ref().map(|parent| parent.as_str());
    create(&cx, op, input.slug.clone(), names_of(&input.names), parent).await
}

/// Creates a category from checked input; its `_id` is the op's id.
pub(crate) async fn create(
    app: &App,
    op: Op,
    slug: Slug,
    names: Names,
    parent: Option<&str>,
) -> Result<CategoryDocument, Stop<CreateCategoryResult>> {
    let new = |parent: Option<&CategoryDocument>, now: DateTime| CategoryDocument {
        path: path_below(parent, slug.as_str()),
        parent_path: parent.map_or(TOP, |parent| &parent.path).to_owned(),
        parent_id: parent.map(|parent| parent.id.clone()),
        ancestors: parent.map(CategoryDocument::line).unwrap_or_default(),
        tree: TreeFields::new(parent.map(|parent| &parent.tree), now),
        id: op.id.clone(),
        slug,
        names,
        input: op.input.clone(),
        v: Version,
    };
    let (created, _) = Categories::over(app).create(&op, parent, new).await?;
    Ok(created)
}
