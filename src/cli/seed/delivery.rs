//! Shipping methods of the demo's orders.

use serde_json::json;

use super::{
    client::DemoClient,
    shoppers::{Shopper, address},
};
use crate::cli::failure::Failure;

const CHOOSE: &str = "mutation($cart: ID!, $method: String!, $country: String!, $op: ID!) {
    setShippingMethod(input: {
        cartId: $cart, shippingMethod: $method, country: $country, idempotencyKey: $op
    }) {
        __typename ... on UserError { code message }
    }
}";

/// Chooses a shipping method for three carts in four, and the fast one for one of these. The cart is checked out to the
/// address of the same number.
pub(super) async fn choose(
    client: &DemoClient,
    shopper: &Shopper,
    cart: &str,
    number: usize,
) -> Result<(), Failure> {
    let method = match number % 4 {
        0 => "express",
        1 | 2 => "standard",
        _ => return Ok(()),
    };
    let variables = json!({
        "cart": cart,
        "method": method,
        "country": address(&shopper.name, number)["country"],
        "op": format!("demo-shipping-{number}"),
    });
    client.execute(&shopper.who, CHOOSE, variables).await.map(drop)
}
