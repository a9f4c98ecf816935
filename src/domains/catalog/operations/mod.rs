//! The business rules of the catalog.

mod checks;
mod credits;
mod edits;
mod follow;
mod lists;
mod removal;
mod stemming;

pub(super) use checks::{Content, checked_content, checked_pricing};
pub use credits::{credit, uncredit};
pub(super) use edits::CATEGORIES;
pub use edits::{categorize, create, set_price, update};
pub(super) use follow::{finish, finish_all};
pub use lists::products;
pub use removal::{delete, incarnation};
pub use stemming::follow_site_locale;

pub use super::import::import;

use super::{store, view::StoredProduct};
use crate::{
    app::App,
    error::Error,
    graphql::{input, scalars::CurrencyCode},
};

/// The product, unless it was deleted.
pub async fn product(app: &App, sku: &str) -> Result<Option<StoredProduct>, Error> {
    let Ok(sku) = input::sku(sku) else { return Ok(None) };
    Ok(store::find_shown(app, &sku).await?.filter(|product| product.get().deleted_at.is_none()))
}

/// The fields of a product that a cart copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The SKU.
    pub sku: String,
    /// The title.
    pub title: String,
    /// Type of the product.
    pub kind: String,
    /// Retail price, in minor units.
    pub unit_price: i64,
    /// Currency of the price.
    pub currency: CurrencyCode,
}

/// The current offer of a product, unless it was deleted.
pub async fn offer(app: &App, sku: &str) -> Result<Option<Offer>, Error> {
    let found = store::find_offer(app, sku).await?;
    Ok(found.map(|store::OfferedProduct { sku, title, kind, pricing, .. }| Offer {
        sku,
        title,
        kind,
        unit_price: pricing.retail,
        currency: pricing.currency,
    }))
}
