//! Deletes categories: marks the category, searches for what still uses it, then removes it or the mark.

use async_graphql::ID;

use super::{not_found, own_id};
use crate::{
    app::App,
    domains::categories::{
        store::{self, Categories},
        types::DeleteCategoryResult,
    },
    error::Error,
    flow::Attempt,
    graphql::{
        refusals::{InUse, Stop},
        trees::locked,
    },
};

/// Deletes a category that has neither children nor products; returns its `_id`.
pub async fn delete(app: &App, category: &ID) -> Result<String, Stop<DeleteCategoryResult>> {
    let id = own_id(category)?;
    locked::<Categories, _, _, _>(app, |attempt| delete_locked(app, id, attempt)).await
}

async fn delete_locked(
    app: &App,
    id: String,
    attempt: Attempt,
) -> Result<String, Stop<DeleteCategoryResult>> {
    let by = app.ids().random();
    if store::mark_deleting(app, &id, &by, &attempt).await.decided()?.is_none() {
        return match store::find(app, &id).await? {
            None => Err(not_found(&id).into()),
            Some(_) => Err(attempt.overdue().into()),
        };
    }
    // From the mark on, no new child or product uses it. One that was begun before is counted here, or sees
    // the mark when it reads the category again.
    if let Some(refusal) = in_use(app, &id).await? {
        store::tree(app).unmark_deleting(&id, &by).await.decided()?;
        return Err(refusal.into());
    }
    if store::tree(app).remove(&id, &by, &attempt).await.decided()?.is_none()
        && store::find(app, &id).await?.is_some()
    {
        return Err(attempt.overdue().into());
    }
    Ok(id)
}

async fn in_use(app: &App, id: &str) -> Result<Option<InUse>, Error> {
    if store::tree(app).has_children(id).await? {
        return Ok(Some(InUse::because("the category has categories below it")));
    }
    if store::count_products(app, id).await? > 0 {
        return Ok(Some(InUse::because("the category has products")));
    }
    Ok(None)
}
