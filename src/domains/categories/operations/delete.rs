//! Deletion: marked, then looked for what still needs it, then removed or unmarked.

use async_graphql::ID;

use super::{not_found, own_id};
use crate::{
    app::App,
    domains::categories::{
        store::{self, Categories},
        types::DeleteCategoryResult,
    },
    error::Error,
    graphql::{
        refusals::{InUse, Stop},
        trees::locked,
    },
    mongo::Run,
};

/// Deletes a category that has neither children nor products; answers with its own id.
///
/// # Errors
/// A refusal, or trouble.
pub async fn delete(app: &App, category: &ID) -> Result<String, Stop<DeleteCategoryResult>> {
    let id = own_id(category)?;
    locked::<Categories, _, _, _>(app, |run| delete_locked(app, id, run)).await
}

async fn delete_locked(
    app: &App,
    id: String,
    run: Run,
) -> Result<String, Stop<DeleteCategoryResult>> {
    let by = app.ids().random();
    if store::mark_deleting(app, &id, &by, &run).await.decided()?.is_none() {
        return match store::find(app, &id).await? {
            None => Err(not_found(&id).into()),
            Some(_) => Err(run.overdue().into()),
        };
    }
    // From the mark on nobody begins to build upon it; who began before is counted, or sees the
    // mark when reading it again.
    if let Some(refusal) = in_use(app, &id).await? {
        store::tree(app).unmark_deleting(&id, &by).await.decided()?;
        return Err(refusal.into());
    }
    if store::tree(app).remove(&id, &by, &run).await.decided()?.is_none()
        && store::find(app, &id).await?.is_some()
    {
        return Err(run.overdue().into());
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
