//! The rules of the catalog.

use super::{documents::ProductDocument, store};
use crate::{app::App, error::Error};

/// The product, unless it is being removed.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn product(app: &App, sku: &str) -> Result<Option<ProductDocument>, Error> {
    Ok(store::find(app, sku).await?.filter(|product| !product.deleting))
}
