//! Orders of guests, for `docgate person`: no subject finds an order that was placed without signing in. Its number does.

use super::{
    super::{documents::OrderDocument, store},
    number,
};
use crate::{domains::carts, graphql::prelude::*};

/// The order with this number or global id. One that was deleted has nothing of the guest, and names the cart.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn order_named(app: &App, name: &str) -> Result<Option<OrderDocument>> {
    let id = match number::read(name) {
        Some(number) => number::holder(app, &number).await?,
        None => input::id(NodeKind::ORDER, name).ok(),
    };
    let Some(id) = id else { return Ok(None) };
    store::orders(app).get_settled(&id).await
}

/// The subject that stands for the guest of the order while an erasure runs. It is derived from the order's id, so a repeat
/// has the same one, and nobody has a token with it.
pub fn guest_of(app: &App, order: &OrderDocument) -> String {
    app.ids().derived(&["guest", &order.id])
}

/// Makes the guest the owner of the order and of its cart, so that an erasure finds both. It may be repeated. Returns `false`
/// if the checkout still goes on, or if somebody else has become the owner.
///
/// # Errors
/// `Unavailable` or `Internal`: it is to be repeated.
pub async fn name_guest(app: &App, order: &OrderDocument, guest: &str) -> Result<bool> {
    // The cart first: as long as its checkout isn't complete, its flow could write the order again.
    Ok(carts::operations::name_guest(app, &order.cart_id, guest).await?
        && (order.deleted || store::name_guest(app, &order.id, guest).held().await?))
}
