//! Moves categories and changes their slugs.

use async_graphql::ID;

use super::{DEPTH, own_id, taken};
use crate::{
    app::App,
    domains::categories::{
        documents::CategoryDocument,
        store::{self, Categories},
        types::{ChangeCategorySlugResult, MoveCategoryResult, WouldMakeCircle},
    },
    error::Error,
    flow::{
        Attempt,
        tree::{Child, taken_up},
    },
    graphql::{
        node_id::NodeKind,
        refusals::{InvalidInput, Stop},
        scalars::Slug,
        trees::{carry, locked, settled},
    },
};

/// Changes the slug; the paths below are updated.
pub async fn change_slug(
    app: &App,
    category: &ID,
    slug: &Slug,
) -> Result<CategoryDocument, Stop<ChangeCategorySlugResult>> {
    let id = own_id(category)?;
    let work = |attempt| change_slug_locked(app, &id, slug, attempt);
    let changed = locked::<Categories, _, _, _>(app, work).await?;
    Ok(carry(app, Categories(app.clone()), changed).await?)
}

async fn change_slug_locked(
    app: &App,
    id: &str,
    slug: &Slug,
    attempt: Attempt,
) -> Result<CategoryDocument, Stop<ChangeCategorySlugResult>> {
    let found = taken_up(&store::tree(app), id).await?;
    let found = settled::<_, ChangeCategorySlugResult>(found, NodeKind::Category, id)?;
    if let Some(changed) = store::set_slug(app, id, slug, &attempt).await.decided()? {
        return Ok(changed);
    }
    let parent = found.parent_id.as_deref();
    if is_taken(app, parent, slug, id).await? {
        let above = match parent {
            Some(parent) => store::find(app, parent).await?,
            None => None,
        };
        return Err(taken(above.as_ref(), slug).into());
    }
    Err(attempt.overdue().into())
}

/// Whether another category than `id` has the slug below that parent.
async fn is_taken(app: &App, parent: Option<&str>, slug: &Slug, id: &str) -> Result<bool, Error> {
    let holder = store::find_below(app, parent, slug).await?;
    Ok(holder.is_some_and(|holder| holder.id != id))
}

/// Moves a category with everything below it.
pub async fn move_below(
    app: &App,
    category: &ID,
    parent: Option<&ID>,
) -> Result<CategoryDocument, Stop<MoveCategoryResult>> {
    let id = own_id(category)?;
    let parent = parent.map(|parent| own_id(parent)).transpose()?;
    let work = |attempt| move_locked(app, &id, parent.as_deref(), attempt);
    let moved = locked::<Categories, _, _, _>(app, work).await?;
    Ok(carry(app, Categories(app.clone()), moved).await?)
}

type Refused = MoveCategoryResult;

async fn move_locked(
    app: &App,
    id: &str,
    parent: Option<&str>,
    attempt: Attempt,
) -> Result<CategoryDocument, Stop<Refused>> {
    let tree = store::tree(app);
    let category = settled::<_, Refused>(taken_up(&tree, id).await?, NodeKind::Category, id)?;
    let parent = match parent {
        None => None,
        Some(parent) => {
            let found = taken_up(&tree, parent).await?;
            Some(settled::<_, Refused>(found, NodeKind::Category, parent)?)
        }
    };
    if let Some(parent) = &parent {
        let above = tree.height_without(id, parent).await?;
        let above = above.ok_or_else(|| WouldMakeCircle::new(id, &parent.id))?;
        let deepest = store::find_depth_below(app, &category.path).await?;
        let below = deepest.saturating_sub(category.ancestors.len());
        if above + 1 + below > DEPTH {
            let reason = format!("would make the tree deeper than {DEPTH} categories");
            return Err(InvalidInput::new("parent", reason).into());
        }
    }
    match store::set_parent(app, id, parent.as_ref(), &attempt).await.decided()? {
        Some(moved) => Ok(moved),
        None if is_taken(app, parent.as_ref().map(Child::id), &category.slug, id).await? => {
            Err(taken(parent.as_ref(), &category.slug).into())
        }
        // The lease excludes other changes of the tree, so only the attempt's deadline can be the cause.
        None => Err(attempt.overdue().into()),
    }
}
