//! The catalog's part in the deletion of a product, which its stock has committed.

use super::{super::store, follow::finish};
use crate::{app::App, error::Error, flow::Attempt};

/// Generation of the product with the SKU, also while it is being removed.
pub async fn incarnation(app: &App, sku: &str) -> Result<Option<String>, Error> {
    Ok(store::find(app, sku).await?.map(|product| product.incarnation))
}

/// Deletes this generation of the product. If it is already gone, nothing changes.
///
/// # Errors
/// The outcome is unknown, or the attempt is over: repeat the call.
pub async fn delete(
    app: &App,
    sku: &str,
    incarnation: &str,
    attempt: &Attempt,
) -> Result<(), Error> {
    if let Some(deleted) = store::mark_deleted(app, sku, incarnation, attempt).await.decided()? {
        return finish(app, attempt, deleted).await.map(|_| ());
    }
    match store::find(app, sku).await?.filter(|product| product.incarnation == incarnation) {
        Some(product) if product.deleted_at.is_none() => Err(attempt.overdue()),
        Some(product) => finish(app, attempt, product).await.map(|_| ()),
        None => Ok(()),
    }
}
