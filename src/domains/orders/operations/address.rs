//! The address of an order. It can be corrected until something is packed, because a parcel that is packed has its label.

use super::{
    super::{
        documents::{OrderDocument, OrderState},
        store,
        types::{ChangeOrderAddressInput, ChangeOrderAddressResult, OrderNotOpen, OrderShipped},
    },
    begin, demand_room,
};
use crate::{domains::carts::quotes::operations as quotes, graphql::prelude::*};

/// Replaces the address of an order. The caller is whoever may change the order.
pub async fn change_order_address(
    cx: Cx<'_>,
    input: ChangeOrderAddressInput,
) -> Answer<ChangeOrderAddressResult> {
    let input = &input.checked()?;
    let id = &input.order_id;
    let op = &cx.op_of(&[id, "changeOrderAddress"], input, &input.shipping);
    decide(
        || begin(cx, id),
        |attempt: Attempt, order: OrderDocument| async move {
            if op.is_committed(&order.ops)? {
                return Ok(Step::Done(order));
            }
            if order.state != OrderState::Placed {
                return Err(OrderNotOpen::of(&order).into());
            }
            demand_unpacked(&order)?;
            demand_country(&cx, &order, &input.shipping.country)?;
            demand_room(&cx, &order, &attempt)?;
            let changed = store::set_address(&cx, &order, &input.shipping, op);
            Ok(Step::or_again(changed.after().await?))
        },
    )
    .await
}

/// Refuses another country if shipping and tax of the order depend on it.
fn demand_country(app: &App, order: &OrderDocument, country: &str) -> Result<(), InvalidInput> {
    let Some(charges) = order.charges.as_ref().filter(|_| order.shipping.country != country) else {
        return Ok(());
    };
    let fault = quotes::country_fault(app, charges, country);
    fault.map_or(Ok(()), |reason| Err(InvalidInput::new("shipping.country", reason)))
}

/// Refuses to change the address of an order of which a part is packed or shipped.
fn demand_unpacked(order: &OrderDocument) -> Result<(), OrderShipped> {
    let parts = order.lines.iter().map(|line| {
        let sku = line.sku.as_str();
        (sku, order.packed(sku) + order.sent(sku))
    });
    let mut parts = parts.filter(|(_, pieces)| *pieces > 0);
    let Some((sku, pieces)) = parts.next() else { return Ok(()) };
    let reason = "packed or shipped, so the address can't be changed: a merchant can unpack what isn't shipped yet";
    Err(OrderShipped::new(sku, pieces, reason))
}
