//! Creates categories. The insert copies values from the parent; then the parent is read again and compared.

use async_graphql::ID;

use super::{DEPTH, own_id, sound_names, taken};
use crate::{
    app::App,
    domains::categories::{
        documents::{CategoryDocument, Names, TOP},
        store,
        types::CreateCategoryResult,
    },
    error::Error,
    flow::{Attempt, Op},
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{Conflict, InvalidInput, Stop},
        scalars::{LocaleTag, Slug},
        trees::{planted, settled},
    },
    mongo::Version,
};

/// The input of a new category.
#[derive(Debug)]
pub struct NewCategory {
    /// Its step in paths.
    pub slug: Slug,
    /// Its names.
    pub names: Vec<(LocaleTag, String)>,
    /// Global id of its parent.
    pub parent: Option<ID>,
    /// The caller's idempotency key.
    pub idempotency_key: Option<ID>,
}

/// Creates a category, once per idempotency key.
pub async fn create(
    app: &App,
    subject: &str,
    new: NewCategory,
) -> Result<CategoryDocument, Stop<CreateCategoryResult>> {
    let asked = (&new.slug, &new.names, new.parent.as_deref());
    let op = input::op(app, &[subject, "createCategory"], new.idempotency_key.as_ref(), &asked)?;
    let names = sound_names("names", new.names)?;
    let parent = new.parent.as_ref().map(|parent| own_id(parent)).transpose()?;
    plant(app, op, new.slug, names, parent.as_deref()).await
}

/// Creates a category from checked input; its `_id` is the op's id.
pub(in crate::domains::categories) async fn plant(
    app: &App,
    op: Op,
    slug: Slug,
    names: Names,
    parent: Option<&str>,
) -> Result<CategoryDocument, Stop<CreateCategoryResult>> {
    let inserted = match open_parent(app, parent).await {
        Ok((attempt, parent)) => {
            let category = placed(op, slug, names, parent.as_ref(), &attempt);
            match store::insert(app, category.clone()).await.decided()? {
                Some(()) => category,
                None => inserted_before(app, &category, parent.as_ref()).await?,
            }
        }
        // If the first call was applied, a repeat returns its result, whatever became of the parent.
        Err(Stop::Refused(refusal)) => match store::find(app, &op.id).await? {
            Some(found) if found.input == op.input => found,
            _ => return Err(Stop::Refused(refusal)),
        },
        Err(failed) => return Err(failed),
    };
    planted(&store::tree(app), NodeKind::Category, inserted).await
}

/// The parent whose values the new category copies.
async fn open_parent(
    app: &App,
    parent: Option<&str>,
) -> Result<(Attempt, Option<CategoryDocument>), Stop<CreateCategoryResult>> {
    let Some(id) = parent else { return Ok((app.begin().await?, None)) };
    let (attempt, parent) = store::open(app, id).await?;
    let parent = settled(parent, NodeKind::Category, id)?;
    if parent.ancestors.len() + 2 > DEPTH {
        let reason = format!("would make the tree deeper than {DEPTH} categories");
        return Err(InvalidInput::new("parent", reason).into());
    }
    Ok((attempt, Some(parent)))
}

fn placed(
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
    app: &App,
    category: &CategoryDocument,
    parent: Option<&CategoryDocument>,
) -> Result<CategoryDocument, Stop<CreateCategoryResult>> {
    let slug = &category.slug;
    match store::find(app, &category.id).await? {
        Some(found) if found.input == category.input => Ok(found),
        Some(_) => Err(Conflict::other_input().into()),
        None if store::find_below(app, category.parent_id.as_deref(), slug).await?.is_some() => {
            Err(taken(parent, slug).into())
        }
        None => Err(Error::unavailable("what took the slug is already gone").into()),
    }
}
