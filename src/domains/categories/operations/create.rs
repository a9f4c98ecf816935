//! Creates categories. The insert copies values from the parent; then the parent is read again and compared.

use super::{
    super::{
        documents::{CategoryDocument, Names, TOP},
        store::{self, Categories},
        types::{CreateCategoryInput, CreateCategoryResult, names_of},
    },
    DEPTH, taken,
};
use crate::{
    app::App,
    error::Error,
    flow::{Attempt, Op},
    graphql::{
        cx::Cx,
        declared::Input,
        refusals::{Conflict, InvalidInput, Stop},
        scalars::Slug,
    },
    mongo::Version,
};

type Refused = Stop<CreateCategoryResult>;

/// Creates a category, once per idempotency key.
pub async fn create_category(
    cx: Cx<'_>,
    input: CreateCategoryInput,
) -> Result<CategoryDocument, Refused> {
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
) -> Result<CategoryDocument, Refused> {
    let tree = Categories::over(app);
    let inserted = match open_parent(&tree, parent).await {
        Ok((attempt, parent)) => {
            let category = new_category(op, slug, names, parent.as_ref(), &attempt);
            match tree.insert(category.clone()).await.decided()? {
                Some(()) => category,
                None => inserted_before(&tree, &category, parent.as_ref()).await?,
            }
        }
        // If the first call was applied, a repeat returns its result, whatever became of the parent.
        Err(Stop::Refused(refusal)) => match tree.find(&op.id).await? {
            Some(found) if found.input == op.input => found,
            _ => return Err(Stop::Refused(refusal)),
        },
        Err(failed) => return Err(failed),
    };
    Ok(tree.complete(inserted).await?)
}

/// The parent whose values the new category copies.
async fn open_parent(
    tree: &Categories,
    parent: Option<&str>,
) -> Result<(Attempt, Option<CategoryDocument>), Refused> {
    let Some(id) = parent else { return Ok((tree.handles.begin().await?, None)) };
    let (attempt, parent) = tree.open(id).await?;
    if parent.ancestors.len() + 2 > DEPTH {
        let reason = format!("would make the tree deeper than {DEPTH} categories");
        return Err(InvalidInput::new("parentId", reason).into());
    }
    Ok((attempt, Some(parent)))
}

fn new_category(
    op: Op,
    slug: Slug,
    names: Names,
    parent: Option<&CategoryDocument>,
    attempt: &Attempt,
) -> CategoryDocument {
    CategoryDocument {
        path: format!("{}/{}", parent.map_or("", |parent| &parent.path), slug.as_str()),
        parent_path: parent.map_or(TOP, |parent| &parent.path).to_owned(),
        parent_id: parent.map(|parent| parent.id.clone()),
        ancestors: parent.map(CategoryDocument::line).unwrap_or_default(),
        cv: attempt.now().timestamp_millis(),
        parent_cv: parent.map_or(0, |parent| parent.cv),
        outbox: Vec::new(),
        // A root copies nothing from a parent.
        copying: parent.map(|_| attempt.now()),
        deleting: None,
        id: op.id,
        slug,
        names,
        input: op.input,
        v: Version,
    }
}

/// The category that the op inserted before, after a unique key was found taken.
async fn inserted_before(
    tree: &Categories,
    category: &CategoryDocument,
    parent: Option<&CategoryDocument>,
) -> Result<CategoryDocument, Refused> {
    let (above, slug) = (category.parent_id.as_deref(), &category.slug);
    match tree.find(&category.id).await? {
        Some(found) if found.input == category.input => Ok(found),
        Some(_) => Err(Conflict::other_input().into()),
        None if store::find_below(&tree.handles, above, slug).await?.is_some() => {
            Err(taken(parent, slug).into())
        }
        None => Err(Error::unavailable("what took the slug is already gone").into()),
    }
}
