//! Products that are bought together, so that the demo has something to show of it.

use docgate_demo::products::Product;
use serde_json::json;

use super::{
    client::DemoClient,
    shoppers::{ADD, Shopper},
};
use crate::cli::failure::Failure;

/// Number of orders that have all of these products. None of them is cancelled afterwards.
const ORDERS: usize = 6;
/// Number of the products.
const FAVOURITES: usize = 3;

/// Adds the products to the cart of one of the first orders.
pub(super) async fn add(
    client: &DemoClient,
    shopper: &Shopper,
    cart: &str,
    number: usize,
    products: &[Product],
) -> Result<(), Failure> {
    if number >= ORDERS {
        return Ok(());
    }
    let lasts = |product: &&Product| product.retail < 6_000 && product.stock >= 50;
    for product in products.iter().filter(lasts).take(FAVOURITES) {
        let op = format!("demo-favourite-{number}-{}", product.sku);
        let variables = json!({ "cart": cart, "sku": product.sku, "quantity": 1, "op": op });
        client.execute(&shopper.who, ADD, variables).await?;
    }
    Ok(())
}
