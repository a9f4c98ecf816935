//! The business rules of orders.

mod adjust;
mod checkout;
mod outbox;
mod payer;

use async_graphql::{ID, connection::Connection};
use mongodb::bson::Bson;

pub use adjust::adjust_line;
pub(super) use adjust::{list_overdue_raises, undo_raise};
pub use checkout::checkout;
pub(super) use checkout::recover;
pub(super) use outbox::{list_owing, settle};

use super::{
    documents::{Give, OrderDocument, OrderPayment, OrderState},
    store::{self, Decision},
    types::{CancelOrderResult, DeleteOrderResult, Order, OrderNotOpen},
};
use crate::{
    app::App,
    error::Error,
    graphql::{
        input,
        node_id::NodeKind,
        page::{Order as Sort, Page},
        refusals::{Conflict, InUse, NotFound, Stop},
        requester::{Requester, Role},
    },
    mongo::{
        Attempt,
        flow::{Op, Standing, is_full},
    },
};

/// Returns the order if the caller may read it: their own, an anonymous one whose id they know, or any as a
/// merchant.
pub async fn order(
    app: &App,
    requester: &Requester,
    id: &str,
) -> Result<Option<OrderDocument>, Error> {
    let Ok(id) = &input::id(NodeKind::Order, id) else { return Ok(None) };
    Ok(store::find(app, id).await?.filter(|order| is_visible(order, requester)))
}

/// The caller's orders, newest first.
///
/// # Errors
/// The caller has no token, an argument is invalid, or the read failed.
pub async fn my_orders(
    app: &App,
    requester: &Requester,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<Connection<String, Order>, Error> {
    let owner = requester.subject()?;
    let list = format!("myOrders {owner}");
    let newest_first = Sort { list, keys: vec![("placedAt", -1), ("_id", -1)] };
    let page = Page::new(app, newest_first, first, after)?;
    let orders = store::page_of_owner(app, owner, &page).await?;
    let keys = |order: &OrderDocument| {
        vec![Bson::DateTime(order.placed_at), Bson::String(order.id.clone())]
    };
    Ok(page.connection(orders, keys, Order))
}

/// Cancels an order: goods and money are returned, each once.
pub async fn cancel(
    app: &App,
    requester: &Requester,
    id: &str,
    idempotency_key: Option<&ID>,
) -> Result<OrderDocument, Stop<CancelOrderResult>> {
    let id = &input::id(NodeKind::Order, id)?;
    let op = input::op(app, &[id, "cancelOrder"], idempotency_key, &())?;
    let (first, mut order) = open(app, requester, id).await?;
    let mut attempt = first;
    loop {
        match op.standing(&op.id, &order.ops) {
            Standing::Applied => {
                if let Some(order) = outbox::finish(app, &order, &op, &attempt).await? {
                    return Ok(order);
                }
            }
            Standing::OtherInput => return Err(Conflict::other_input().into()),
            Standing::New | Standing::Void if order.state != OrderState::Placed => {
                return Err(OrderNotOpen::of(&order).into());
            }
            Standing::New | Standing::Void => {
                demand_room(app, &order, &attempt)?;
                let decision = cancelled(&order, &op);
                let decided = store::decide(app, id, order.revision, &decision, &op).await;
                if let Some(order) = decided.decided()? {
                    return Ok(outbox::carry_out(app, order, &op, &attempt).await?);
                }
            }
        }
        if first.is_over() {
            return Err(first.overdue().into());
        }
        (attempt, order) = open(app, requester, id).await?;
    }
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
pub async fn delete(app: &App, id: &str) -> Result<OrderDocument, Stop<DeleteOrderResult>> {
    let id = &input::id(NodeKind::Order, id)?;
    if let Some(stone) = store::replace_by_stone(app, id).await.decided()? {
        return Ok(stone);
    }
    match store::find(app, id).await? {
        Some(order) if !order.deleted => {
            Err(InUse::because("only an order that is cancelled for good can be deleted").into())
        }
        _ => Err(NotFound::of(NodeKind::Order, id).into()),
    }
}

/// Begins an attempt with the order as its first read, if the caller may see and change it.
async fn open<U>(
    app: &App,
    requester: &Requester,
    id: &str,
) -> Result<(Attempt, OrderDocument), Stop<U>>
where
    U: From<NotFound>,
{
    let (attempt, order) = store::open(app, id).await?;
    match order.filter(|order| is_visible(order, requester)) {
        Some(order) => Ok((attempt, order)),
        None => Err(NotFound::of(NodeKind::Order, id).into()),
    }
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
    if is_full(&order.ops, attempt.now(), app.bounds()) {
        return Err(Error::RateLimited("too many changes of this order within the hour"));
    }
    Ok(())
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
