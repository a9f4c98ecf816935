//! The rules of the catalog.

use super::{documents::ProductDocument, store};
use crate::{app::App, error::Error, graphql::scalars::CurrencyCode};

/// The product, unless it is being removed.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn product(app: &App, sku: &str) -> Result<Option<ProductDocument>, Error> {
    Ok(store::find(app, sku).await?.filter(|product| !product.deleting))
}

/// What a cart line is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The SKU.
    pub sku: String,
    /// Title as shown.
    pub title: String,
    /// Type of the product.
    pub kind: String,
    /// Retail price in minor units.
    pub unit_price: i64,
    /// Currency of the price.
    pub currency: CurrencyCode,
}

/// What the product is sold as now, unless it is being removed.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn offer(app: &App, sku: &str) -> Result<Option<Offer>, Error> {
    Ok(product(app, sku).await?.map(|product| Offer {
        sku: product.sku,
        title: product.title,
        kind: product.kind,
        unit_price: product.pricing.retail,
        currency: product.pricing.currency,
    }))
}
