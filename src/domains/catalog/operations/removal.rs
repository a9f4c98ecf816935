//! The catalog's part in deleting a product; whether it may go was decided on its stock.

use super::{super::store, follow::finish};
use crate::{app::App, error::Error, mongo::Run};

/// Which product has the SKU, also while it is being removed.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn incarnation(app: &App, sku: &str) -> Result<Option<String>, Error> {
    Ok(store::find(app, sku).await?.map(|product| product.incarnation))
}

/// Deletes this incarnation of the product. One that is gone already is as good.
///
/// # Errors
/// The outcome is unknown, or the run is over: repeat it.
pub async fn delete(app: &App, sku: &str, incarnation: &str, run: &Run) -> Result<(), Error> {
    if let Some(deleted) = store::mark_deleted(app, sku, incarnation, run).await.decided()? {
        finish(app, run, deleted).await?;
        return Ok(());
    }
    match store::find(app, sku).await? {
        Some(product) if product.incarnation != incarnation => Ok(()),
        Some(product) if product.deleted_at.is_some() => {
            finish(app, run, product).await?;
            Ok(())
        }
        Some(_) => Err(run.overdue()),
        None => Ok(()),
    }
}
