//! The business rules of orders.

mod adjust;
mod checkout;
mod outbox;
mod payer;

use async_graphql::connection::Connection;
use mongodb::bson::Bson;

pub use adjust::adjust_order_line;
pub(super) use adjust::{list_overdue_raises, undo_raise};
pub use checkout::checkout_cart;
pub(super) use checkout::recover;
pub(super) use outbox::{list_owing, settle};

use super::{
    documents::{Give, OrderDocument, OrderPayment, OrderState},
    store::{self, Decision},
    types::{
        CancelOrderInput, CancelOrderResult, DeleteOrderInput, DeleteOrderResult, Order,
        OrderNotOpen,
    },
};
use crate::{
    app::App,
    error::Error,
    flow::{Attempt, Op, Step, decide},
    graphql::{
        cx::Cx,
        declared::Input,
        input,
        node_id::NodeKind,
        page::{Order as Sort, Page, Paging},
        refusals::{InUse, NotFound, Stop},
        requester::{Requester, Role},
    },
};

/// Returns the order if the caller may read it: their own, an anonymous one whose id they know, or any as a
/// merchant.
pub async fn order(cx: Cx<'_>, id: &str) -> Result<Option<OrderDocument>, Error> {
    let Ok(id) = &input::id(NodeKind::Order, id) else { return Ok(None) };
    Ok(store::find(&cx, id).await?.filter(|order| is_visible(order, cx.requester)))
}

/// The caller's orders, newest first.
///
/// # Errors
/// The caller has no token, an argument is invalid, or the read failed.
pub async fn my_orders(cx: Cx<'_>, paging: Paging) -> Result<Connection<String, Order>, Error> {
    let owner = cx.requester.subject()?;
    let list = format!("myOrders {owner}");
    let newest_first = Sort { list, keys: vec![("placedAt", -1), ("_id", -1)] };
    let page = Page::new(&cx, newest_first, paging)?;
    let orders = store::page_of_owner(&cx, owner, &page).await?;
    let keys = |order: &OrderDocument| {
        vec![Bson::DateTime(order.placed_at), Bson::String(order.id.clone())]
    };
    Ok(page.connection(orders, keys, Order))
}

/// Cancels an order: goods and money are returned, each once.
pub async fn cancel_order(
    cx: Cx<'_>,
    input: CancelOrderInput,
) -> Result<OrderDocument, Stop<CancelOrderResult>> {
    let input = input.checked()?;
    let id = &input.order_id;
    let op = &cx.op(&[id, "cancelOrder"], input.idempotency_key.as_ref(), &());
    let read = || open(cx, id);
    decide(read, |attempt: Attempt, order: OrderDocument| async move {
        if op.is_applied(&order.ops)? {
            return Ok(outbox::finish(&cx, &order, op, &attempt).await?);
        }
        if order.state != OrderState::Placed {
            return Err(OrderNotOpen::of(&order).into());
        }
        demand_room(&cx, &order, &attempt)?;
        let decision = cancelled(&order, op);
        let decided = store::decide(&cx, id, order.revision, &decision, op).await.decided()?;
        let Some(order) = decided else { return Ok(Step::Again) };
        Ok(Step::Done(outbox::carry_out(&cx, order, op, &attempt).await?))
    })
    .await
}

/// The decision of a cancellation: every line is restocked, and the rest of every payment is refunded.
fn cancelled(order: &OrderDocument, op: &Op) -> Decision {
    let lines = order.lines.iter().filter(|line| line.quantity > 0);
    let restocks =
        lines.map(|line| Give::Restock { sku: line.sku.clone(), quantity: line.quantity });
    let left = order.payments.iter().filter(|payment| payment.amount > payment.refunded);
    let refunds = left.map(|payment| Give::Refund {
        payment: payment.id.clone(),
        amount: payment.amount - payment.refunded,
    });
    let refunded =
        |payment: &OrderPayment| OrderPayment { refunded: payment.amount, ..payment.clone() };
    // An order that owes nothing is cancelled at once.
    let owed = outbox::tagged(op, restocks.chain(refunds));
    let state = if owed.is_empty() { OrderState::Cancelled } else { OrderState::Cancelling };
    Decision {
        state,
        lines: order.lines.clone(),
        total: order.total,
        payments: order.payments.iter().map(refunded).collect(),
        owed,
        raise: None,
    }
}

/// Deletes a cancelled order for good.
pub async fn delete_order(
    cx: Cx<'_>,
    input: DeleteOrderInput,
) -> Result<OrderDocument, Stop<DeleteOrderResult>> {
    let input = input.checked()?;
    let id = &input.order_id;
    if let Some(tombstone) = store::replace_by_stone(&cx, id).await.decided()? {
        return Ok(tombstone);
    }
    match store::find(&cx, id).await? {
        Some(order) if !order.deleted => {
            Err(InUse::because("only an order that is cancelled for good can be deleted").into())
        }
        _ => Err(NotFound::of(NodeKind::Order, id).into()),
    }
}

/// Begins an attempt with the order as its first read. `NotFound` if the caller may not see and change it.
async fn open<U: From<NotFound>>(
    cx: Cx<'_>,
    id: &str,
) -> Result<(Attempt, OrderDocument), Stop<U>> {
    let (attempt, order) = store::open(&cx, id).await?;
    let order = order.filter(|order| is_visible(order, cx.requester));
    Ok((attempt, order.ok_or_else(|| NotFound::of(NodeKind::Order, id))?))
}

fn is_visible(order: &OrderDocument, requester: &Requester) -> bool {
    let is_theirs = order.owner.as_deref().is_none_or(|owner| requester.is(owner));
    !order.deleted && (is_theirs || requester.has(Role::Merchant))
}

/// Checks that the order can record one more op.
///
/// # Errors
/// The order was changed too often within the hour.
fn demand_room(app: &App, order: &OrderDocument, attempt: &Attempt) -> Result<(), Error> {
    let reason = "too many changes of this order within the hour";
    app.bounds().demand_room(&order.ops, attempt, reason)
}

/// The error for a product that has the maximum number of holders.
fn crowded() -> Error {
    Error::RateLimited("too many shoppers are checking out the same product; try again")
}

/// Whether the authorisation belongs to the order or to a raise of it.
pub(super) async fn has_payment(app: &App, order: &str, payment: &str) -> Result<bool, Error> {
    Ok(store::find(app, order).await?.is_some_and(|order| {
        order.payments.iter().any(|own| own.id == payment)
            || order.raises.iter().any(|raise| raise.payment_id() == payment)
    }))
}

/// Calls `each` for every order, for the invariants.
///
/// # Errors
/// An error of a read, or of `each`.
pub(super) async fn for_each(
    app: &App,
    each: impl FnMut(OrderDocument) -> Result<(), Error>,
) -> Result<(), Error> {
    store::for_each(app, each).await
}
