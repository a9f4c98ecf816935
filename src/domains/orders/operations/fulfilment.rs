//! Shipments: packed, unpacked, shipped and delivered. Each call is one commit of the order.

use super::{
    super::{
        documents::{OrderDocument, Pieces, Shipment, ShipmentState},
        types::{
            DeliverOrderInput, DeliverOrderResult, MOST, OrderShipped, PackOrderInput,
            PackOrderResult, PiecesInput, ShipOrderInput, ShipOrderResult, ShipmentNotOpen,
            TooManyPieces, UnpackOrderInput, UnpackOrderResult,
        },
    },
    free, merchants_op, once,
};
use crate::graphql::prelude::*;

/// Packs pieces of an order as a new shipment.
pub async fn pack_order(cx: Cx<'_>, input: PackOrderInput) -> Answer<PackOrderResult> {
    let input = &input.checked()?;
    let op = &merchants_op(cx, "packOrder", &input.order_id, input)?;
    once(cx, &input.order_id, op, |order, attempt| {
        let lines = match &input.lines {
            Some(lines) => named(lines),
            None => unpacked(&order),
        };
        if lines.is_empty() {
            let sku = order.lines.first().map_or("", |line| &line.sku);
            return Err(TooManyPieces::new(sku, 1, 0).into());
        }
        for Pieces { sku, quantity } in &lines {
            let Some(line) = order.lines.iter().find(|line| line.sku == *sku) else {
                return Err(NotFound::new("order line", sku).into());
            };
            let open = order.open(line);
            if *quantity > open {
                return Err(TooManyPieces::new(sku, *quantity, open).into());
            }
        }
        if order.shipments.len() >= MOST {
            return Err(InUse::because("the order has the maximum number of shipments").into());
        }
        let mut order = order;
        let number = order.last_shipment.unwrap_or(0).saturating_add(1);
        order.last_shipment = Some(number);
        order.shipments.push(Shipment {
            number,
            state: ShipmentState::Packed,
            lines,
            carrier: None,
            tracking: None,
            packed_at: attempt.now(),
            shipped_at: None,
            delivered_at: None,
        });
        Ok(free(order))
    })
    .await
}

/// Undoes a packed shipment.
pub async fn unpack_order(cx: Cx<'_>, input: UnpackOrderInput) -> Answer<UnpackOrderResult> {
    let input = &input.checked()?;
    let op = &merchants_op(cx, "unpackOrder", &input.order_id, input)?;
    once(cx, &input.order_id, op, |mut order, _attempt| {
        let _packed = shipment(&mut order, input.shipment_number, ShipmentState::Packed)?;
        order.shipments.retain(|one| one.number != input.shipment_number);
        Ok(free(order))
    })
    .await
}

/// Records that a shipment was handed to its carrier.
pub async fn ship_order(cx: Cx<'_>, input: ShipOrderInput) -> Answer<ShipOrderResult> {
    let input = &input.checked()?;
    let op = &merchants_op(cx, "shipOrder", &input.order_id, input)?;
    once(cx, &input.order_id, op, |mut order, attempt| {
        let shipment = shipment(&mut order, input.shipment_number, ShipmentState::Packed)?;
        shipment.state = ShipmentState::Shipped;
        shipment.carrier.clone_from(&input.carrier);
        shipment.tracking.clone_from(&input.tracking);
        shipment.shipped_at = Some(attempt.now());
        Ok(free(order))
    })
    .await
}

/// Records that a shipment has arrived.
pub async fn deliver_order(cx: Cx<'_>, input: DeliverOrderInput) -> Answer<DeliverOrderResult> {
    let input = &input.checked()?;
    let op = &merchants_op(cx, "deliverOrder", &input.order_id, input)?;
    once(cx, &input.order_id, op, |mut order, attempt| {
        let shipment = shipment(&mut order, input.shipment_number, ShipmentState::Shipped)?;
        shipment.state = ShipmentState::Delivered;
        shipment.delivered_at = Some(attempt.now());
        Ok(free(order))
    })
    .await
}

/// The order's shipment with this number, if it is in this state.
fn shipment<U: From<NotFound> + From<ShipmentNotOpen>>(
    order: &mut OrderDocument,
    number: i32,
    state: ShipmentState,
) -> Result<&mut Shipment, Stop<U>> {
    let found = order.shipments.iter_mut().find(|one| one.number == number);
    let found = found.ok_or_else(|| NotFound::new("shipment", number.to_string()))?;
    if found.state == state { Ok(found) } else { Err(ShipmentNotOpen::of(found.state).into()) }
}

/// The pieces that an input names, one entry for each SKU.
pub(super) fn named(lines: &[PiecesInput]) -> Vec<Pieces> {
    let mut all: Vec<Pieces> = Vec::new();
    for PiecesInput { sku, quantity } in lines {
        let quantity = i64::from(*quantity);
        match all.iter_mut().find(|line| line.sku == sku.as_str()) {
            Some(line) => line.quantity += quantity,
            None => all.push(Pieces { sku: sku.0.clone(), quantity }),
        }
    }
    all
}

/// Everything that is still to be packed.
fn unpacked(order: &OrderDocument) -> Vec<Pieces> {
    let open = order.lines.iter().map(|line| (line, order.open(line)));
    let open = open.filter(|(_, quantity)| *quantity > 0);
    open.map(|(line, quantity)| Pieces { sku: line.sku.clone(), quantity }).collect()
}

/// Refuses to cancel an order of which a part is shipped.
pub(super) fn demand_unsent(order: &OrderDocument) -> Result<(), OrderShipped> {
    let mut sent = order.lines.iter().map(|line| (line, order.sent(&line.sku)));
    let Some((line, sent)) = sent.find(|(_, sent)| *sent > 0) else { return Ok(()) };
    let reason = "shipped, so the order can't be cancelled: request the return of what is shipped";
    Err(OrderShipped::new(&line.sku, sent, reason))
}

/// Refuses to lower a line below what is packed or shipped of it.
pub(super) fn demand_left(order: &OrderDocument, sku: &str, to: i64) -> Result<(), OrderShipped> {
    let least = order.packed(sku) + order.sent(sku);
    if to >= least {
        return Ok(());
    }
    let reason = "packed or shipped, so the line can't have fewer: a merchant can unpack what isn't shipped yet, and what \
                  is shipped can be returned";
    Err(OrderShipped::new(sku, least, reason))
}

impl ShipmentNotOpen {
    /// The refusal for a shipment in this state.
    pub(super) fn of(state: ShipmentState) -> Self {
        let message = match state {
            ShipmentState::Packed => "the shipment isn't shipped yet",
            ShipmentState::Shipped => "the shipment is shipped",
            ShipmentState::Delivered => "the shipment is delivered",
        };
        Self::because(message, state)
    }
}
