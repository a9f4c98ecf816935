//! The business rules of the catalog.

mod content;
mod credits;
mod edits;
mod follow;
mod lists;
mod removal;
mod stemming;

pub(super) use content::Content;
pub use credits::{credit_person, uncredit_person};
pub use edits::{categorize_product, create_product, set_product_price, update_product};
pub(super) use follow::{finish, finish_all};
pub use lists::products;
pub use removal::{delete, incarnation};
pub use stemming::follow_site_locale;

pub use super::{
    import::import,
    store::{Offer, find_offer as offer},
};
use super::{store, view::StoredProduct};
use crate::{app::App, error::Error, graphql::input};

/// The product, unless it was deleted.
pub async fn product(app: &App, sku: &str) -> Result<Option<StoredProduct>, Error> {
    let Ok(sku) = input::sku(sku) else { return Ok(None) };
    Ok(store::find_shown(app, &sku).await?.filter(|product| product.get().deleted_at.is_none()))
}
