//! Moves and changes of slug, and the lock that they hold.

use async_graphql::ID;

use super::{DEPTH, carry, not_found, own_id};
use crate::{
    app::App,
    domains::categories::{
        documents::CategoryDocument,
        store,
        types::{ChangeCategorySlugResult, MoveCategoryResult, WouldMakeCircle},
    },
    error::Error,
    graphql::{
        refusals::{AlreadyExists, InvalidInput, Stop},
        scalars::Slug,
    },
    mongo::{Run, lease::Lease},
};

/// Name of the tree's lock.
const LOCK: &str = "categories.tree";

/// The tree's lock, and the run within which its holder writes.
pub(super) async fn lock(app: &App) -> Result<(Lease, Run), Error> {
    Lease::wait_for(app.collection(), LOCK, app.ids().random(), app.bounds()).await
}

/// Gives the lock back, unless a write under it may yet be applied: then it runs out.
pub(super) async fn unlock<T, U>(lease: Lease, done: &Result<T, Stop<U>>) {
    lease.end(!matches!(done, Err(Stop::Failed(_)))).await;
}

/// Changes the slug; paths below follow.
///
/// # Errors
/// A refusal, or trouble.
pub async fn change_slug(
    app: &App,
    category: &ID,
    slug: &Slug,
) -> Result<CategoryDocument, Stop<ChangeCategorySlugResult>> {
    let id = own_id("category", category)?;
    let (lease, run) = lock(app).await?;
    let done = change_slug_locked(app, &id, slug, &run).await;
    unlock(lease, &done).await;
    Ok(carry(app, done?).await?)
}

async fn change_slug_locked(
    app: &App,
    id: &str,
    slug: &Slug,
    run: &Run,
) -> Result<CategoryDocument, Stop<ChangeCategorySlugResult>> {
    if let Some(changed) = store::set_slug(app, id, slug, run).await.decided()? {
        return Ok(changed);
    }
    if store::find(app, id).await?.is_none_or(|category| category.deleting.is_some()) {
        return Err(not_found(id).into());
    }
    if store::find_slug(app, slug).await?.is_some_and(|holder| holder.id != id) {
        return Err(AlreadyExists::new("category", slug.as_str()).into());
    }
    Err(run.overdue().into())
}

/// Moves a category with everything below it.
///
/// # Errors
/// A refusal, or trouble.
pub async fn move_below(
    app: &App,
    category: &ID,
    parent: Option<&ID>,
) -> Result<CategoryDocument, Stop<MoveCategoryResult>> {
    let id = own_id("category", category)?;
    let parent = parent.map(|parent| own_id("parent", parent)).transpose()?;
    let (lease, run) = lock(app).await?;
    let done = move_locked(app, &id, parent.as_deref(), &run).await;
    unlock(lease, &done).await;
    Ok(carry(app, done?).await?)
}

async fn move_locked(
    app: &App,
    id: &str,
    parent: Option<&str>,
    run: &Run,
) -> Result<CategoryDocument, Stop<MoveCategoryResult>> {
    let category = store::find(app, id).await?.filter(|found| found.deleting.is_none());
    let category = category.ok_or_else(|| not_found(id))?;
    let parent = match parent {
        None => None,
        Some(parent) => {
            let found = store::find(app, parent).await?.filter(CategoryDocument::is_settled);
            Some(found.ok_or_else(|| not_found(parent))?)
        }
    };
    if let Some(parent) = &parent {
        let above = height_without_circle(app, id, parent).await?;
        let deepest = store::find_depth_below(app, &category.path).await?;
        let below = deepest.saturating_sub(category.ancestors.len());
        if above + 1 + below > DEPTH {
            let reason = format!("would make the tree deeper than {DEPTH} categories");
            return Err(InvalidInput::new("parent", reason).into());
        }
    }
    match store::set_parent(app, id, parent.as_ref(), run).await.decided()? {
        Some(moved) => Ok(moved),
        // Nobody else deletes it or changes the shape as long as the run lasts.
        None => Err(run.overdue().into()),
    }
}

/// How many categories the way from `parent` up to its root goes through, itself included. It is
/// gone by `parentId`, which only changes under the lock; `ancestors` may lag behind.
async fn height_without_circle(
    app: &App,
    id: &str,
    parent: &CategoryDocument,
) -> Result<usize, Stop<MoveCategoryResult>> {
    let mut height = 1;
    let mut step = (parent.id.clone(), parent.parent_id.clone());
    loop {
        if step.0 == id {
            return Err(WouldMakeCircle::new(id, &parent.id).into());
        }
        let Some(above) = step.1 else { return Ok(height) };
        let Some(above) = store::find(app, &above).await? else { return Ok(height) };
        step = (above.id, above.parent_id);
        height += 1;
    }
}
