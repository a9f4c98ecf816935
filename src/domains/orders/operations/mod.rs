//! The business rules of orders.

mod address;
mod adjust;
mod charges;
mod checkout;
mod discount;
mod fulfilment;
mod guests;
mod lists;
mod notes;
mod number;
mod outbox;
mod placing;
mod returns;
mod shipping;

pub use super::together::bought_together;
pub use address::change_order_address;
pub use adjust::adjust_order_line;
pub(super) use adjust::undo_raise;
pub(super) use checkout::SaleOfCart;
pub use checkout::checkout_cart;
pub use fulfilment::{deliver_order, pack_order, ship_order, unpack_order};
pub use guests::{guest_of, name_guest, order_named};
pub use lists::{my_orders, order_by, orders as orders_by};
pub use notes::note_order;
pub(super) use number::renumber;
pub(super) use outbox::settle;
pub use placing::order_placed;
pub use returns::{accept_return, refuse_return, request_return};
pub use shipping::refund_shipping;

use super::{
    documents::{Action, OrderDocument, OrderState, Shipment},
    store::{self, Decision, orders},
    types::{
        CancelOrderInput, CancelOrderResult, DeleteOrderInput, DeleteOrderResult, DeletedOrder,
        OrderNotOpen,
    },
};
use crate::graphql::{
    declared::{Checked, Keyed},
    prelude::*,
};

/// Returns the order if the caller may read it: their own, an anonymous one whose id they know, or any as a
/// merchant.
pub async fn order(cx: Cx<'_>, id: &str) -> Result<Option<OrderDocument>> {
    let Ok(id) = &input::id(NodeKind::ORDER, id) else { return Ok(None) };
    Ok(orders(&cx).get_settled(id).await?.filter(|order| is_visible(order, cx.requester)))
}

/// Cancels an order: goods and money are returned, each once.
pub async fn cancel_order(cx: Cx<'_>, input: CancelOrderInput) -> Answer<CancelOrderResult> {
    let input = input.checked()?;
    let op = &cx.op_of(&[&input.order_id, "cancelOrder"], &input, &());
    once(cx, &input.order_id, op, |order, _attempt| {
        fulfilment::demand_unsent(&order)?;
        Ok(cancelled(order))
    })
    .await
}

/// The decision of a cancellation: every line is restocked, the rest of every payment is refunded, and what was spent of a
/// voucher is given back.
fn cancelled(mut order: OrderDocument) -> Decision {
    let mut owed = Vec::new();
    for line in order.lines.iter().filter(|line| line.quantity > 0) {
        owed.push(Action::Restock { sku: line.sku.clone(), quantity: line.quantity });
    }
    for payment in order.payments.iter_mut().filter(|payment| payment.amount > payment.refunded) {
        let amount = payment.amount - payment.refunded;
        owed.push(Action::Refund { payment: payment.id.clone(), amount });
        payment.refunded = payment.amount;
    }
    if let Some(discount) = &order.discount {
        owed.push(Action::GiveBack { voucher: discount.hold.clone() });
    }
    // What is packed is unpacked. Shipments that were sent have come back as a whole, and stay on record.
    order.shipments.retain(Shipment::is_sent);
    // An order that owes nothing is cancelled at once.
    order.state = if owed.is_empty() { OrderState::Cancelled } else { OrderState::Cancelling };
    Decision { order, owed, raise: None }
}

/// Deletes a cancelled order for good.
pub async fn delete_order(cx: Cx<'_>, input: DeleteOrderInput) -> Answer<DeleteOrderResult> {
    let input = input.checked()?;
    let id = &input.order_id;
    if store::leave_tombstone(&cx, id).after().await?.is_some() {
        return Ok(DeletedOrder { id: NodeKind::ORDER.id(id) });
    }
    match orders(&cx).get_settled(id).await? {
        Some(order) if !order.deleted => {
            Err(InUse::because("only an order that is cancelled for good can be deleted").into())
        }
        _ => Err(NotFound::of(NodeKind::ORDER, id).into()),
    }
}

/// Begins an attempt with the order as its first read. `NotFound` if the caller may not see and change it.
async fn begin<U: From<NotFound>>(
    cx: Cx<'_>,
    id: &str,
) -> Result<(Attempt, OrderDocument), Stop<U>> {
    let (attempt, order) = cx.begin_with(id).await?;
    let order = order.filter(|order| is_visible(order, cx.requester));
    Ok((attempt, order.ok_or_else(|| NotFound::of(NodeKind::ORDER, id))?))
}

fn is_visible(order: &OrderDocument, requester: &Requester) -> bool {
    let is_theirs = order.owner.as_deref().is_none_or(|owner| requester.is(owner));
    !order.deleted && (is_theirs || requester.has(Role::Merchant))
}

/// Decides on a placed order once per op, and carries out what it owes then. The decision is computed from the order as it
/// was read, and again if the order has changed.
async fn once<U>(
    cx: Cx<'_>,
    id: &str,
    op: &Op,
    decision: impl Fn(OrderDocument, &Attempt) -> Result<Decision, Stop<U>>,
) -> Result<OrderDocument, Stop<U>>
where
    U: From<NotFound> + From<OrderNotOpen> + From<Conflict>,
{
    let decision = &decision;
    decide(
        || begin(cx, id),
        |attempt: Attempt, order: OrderDocument| async move {
            if op.is_committed(&order.ops)? {
                return Ok(outbox::finish(&cx, &order, op, &attempt).await?);
            }
            if order.state != OrderState::Placed {
                return Err(OrderNotOpen::of(&order).into());
            }
            demand_room(&cx, &order, &attempt)?;
            let decision = decision(order, &attempt)?;
            let decided = store::decide(&cx, &decision, op).after().await?;
            let Some(order) = decided else { return Ok(Step::Again) };
            Ok(Step::Done(outbox::carry_out(&cx, order, op, &attempt).await?))
        },
    )
    .await
}

/// A decision that owes nothing.
fn free(order: OrderDocument) -> Decision {
    Decision { order, owed: Vec::new(), raise: None }
}

/// The op of a merchant's call. Its scope begins with the merchant: the id of an order is a capability of customers.
fn merchants_op(cx: Cx<'_>, name: &str, order: &str, input: &Checked<impl Keyed>) -> Result<Op> {
    Ok(cx.op(&[cx.requester.subject()?, order, name], input))
}

/// Checks that the order can record one more op. It can't if it was changed too often while idempotency keys are
/// remembered.
fn demand_room(app: &App, order: &OrderDocument, attempt: &Attempt) -> Result<()> {
    let reason = "too many changes of this order";
    app.bounds().demand_room(&order.ops, attempt, reason)
}

/// The error for a product that has the maximum number of holders.
fn too_many_holders() -> Error {
    Error::rate_limited(
        "too many shoppers are checking out the same product; try again in a moment",
    )
}

/// Whether the authorisation belongs to the order or to a raise of it.
async fn has_payment(app: &App, order: &str, payment: &str) -> Result<bool> {
    Ok(orders(app).get_settled(order).await?.is_some_and(|order| {
        order.payments.iter().any(|own| own.id == payment)
            || order.raises.iter().any(|raise| raise.payment_id() == payment)
    }))
}
