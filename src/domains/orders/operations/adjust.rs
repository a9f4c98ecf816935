//! Changes of the quantity of a line of a placed order. Lowering commits first and then restocks and refunds;
//! raising reserves first.

use mongodb::bson::DateTime;

use super::{
    super::{
        documents::{Give, OrderDocument, OrderLine, OrderPayment, OrderState, Raise},
        store::{self, Decision},
        types::{AdjustOrderLineInput, AdjustOrderLineResult, OrderNotOpen, PaymentDeclined},
    },
    crowded, demand_room, open, outbox, payer,
};
use crate::{
    app::App,
    domains::{
        carts::{Payment, order_as_holder},
        inventory::{self, operations::Taken},
        payments::{self, Authorisation, Charge},
    },
    error::Error,
    flow::{Attempt, Op, OtherInput, Step, decide},
    graphql::{
        cx::Cx,
        declared::Input,
        refusals::{InsufficientStock, NotFound, Stop},
        scalars::Money,
    },
};

/// Maximum number of concurrent raises of one order.
const RAISES: usize = 16;

/// Sets the quantity of a line.
pub async fn adjust_order_line(
    cx: Cx<'_>,
    input: AdjustOrderLineInput,
) -> Result<OrderDocument, Stop<AdjustOrderLineResult>> {
    let input = input.checked()?;
    let scope = [input.order_id.as_str(), "adjustOrderLine"];
    let op = cx.op(&scope, input.idempotency_key.as_ref(), &*input);
    let call = &Call { cx, input: &input, op };
    decide(|| open(cx, &input.order_id), |attempt, order| call.step(attempt, order)).await
}

/// One call.
struct Call<'a> {
    cx: Cx<'a>,
    input: &'a AdjustOrderLineInput,
    op: Op,
}

impl Call<'_> {
    /// Commits on the order as it was read.
    async fn step(
        &self,
        attempt: Attempt,
        order: OrderDocument,
    ) -> Result<Step<OrderDocument>, Stop<AdjustOrderLineResult>> {
        let (app, op, attempt, order) = (&self.cx, &self.op, &attempt, &order);
        if let Some(raise) = order.raises.iter().find(|raise| raise.op == op.id) {
            if raise.input != op.input {
                return Err(OtherInput.into());
            }
            if raise.deadline >= app.bounds().overdue_before(attempt.now()) {
                return Ok(Step::Wait);
            }
            undo_raise(app, &order.id, raise).await?;
            return Ok(Step::Again);
        }
        if op.is_applied(&order.ops)? {
            return Ok(outbox::finish(app, order, op, attempt).await?);
        }
        if order.state != OrderState::Placed {
            return Err(OrderNotOpen::of(order).into());
        }
        let sku = self.input.sku.as_str();
        let Some(line) = order.lines.iter().find(|line| line.sku == sku) else {
            return Err(NotFound::new("order line", sku).into());
        };
        demand_room(app, order, attempt)?;
        // Setting the present quantity is committed as well, so that a later repeat changes nothing.
        let decided = if self.input.quantity.0 > line.quantity {
            self.raise(order, line, attempt).await?
        } else {
            let decision = lowered(order, line, self.input.quantity.0, op);
            store::decide(app, &order.id, order.revision, &decision, op).await.decided()?
        };
        let Some(order) = decided else { return Ok(Step::Again) };
        Ok(Step::Done(outbox::carry_out(app, order, op, attempt).await?))
    }

    /// Raises a line: records the raise, reserves stock and money, commits. Returns `None` if the order changed.
    async fn raise(
        &self,
        order: &OrderDocument,
        line: &OrderLine,
        attempt: &Attempt,
    ) -> Result<Option<OrderDocument>, Stop<AdjustOrderLineResult>> {
        let app = &self.cx;
        let raise = self.begun(order, line, attempt)?;
        let payment = self.input.payment.as_ref();
        let payment = payment.map_or_else(|| order.payer.clone(), Payment::from);
        let amount = Money::new(raise.amount, order.currency);
        let holder = order_as_holder(&order.id);
        let charge = payer::charge(raise.payment_id(), holder, amount, &payment);
        payments::operations::check(self.cx, &charge).await?;
        let noted =
            store::push_raise(app, &order.id, order.revision, &raise, attempt).await.decided()?;
        let Some(order) = noted else { return Ok(None) };
        if let Some(lack) = secure(app, &order, &raise, &charge, attempt).await? {
            let was_ours = undo_raise(app, &order.id, &raise).await?;
            return Err(if was_ours { lack } else { attempt.overdue().into() });
        }
        Ok(self.decide_raise(order, &raise, attempt).await?)
    }

    /// The record of a raise. Tag and payment id are derived from the revision as read, which writing the record
    /// raises. So no two tries share them.
    fn begun(
        &self,
        order: &OrderDocument,
        line: &OrderLine,
        attempt: &Attempt,
    ) -> Result<Raise, Error> {
        if order.raises.len() >= RAISES {
            return Err(Error::RateLimited("too many changes of this order at once"));
        }
        let quantity = self.input.quantity.0 - line.quantity;
        let revision = order.revision.to_string();
        let derived = |what| self.cx.ids().derived(&[what, &self.op.id, &revision]);
        Ok(Raise {
            tag: derived("raise"),
            payment: Some(derived("raise payment")),
            op: self.op.id.clone(),
            input: self.op.input.clone(),
            sku: line.sku.clone(),
            from: line.quantity,
            quantity,
            // Can't overflow, nor can the total: within the limits of carts no sum of lines does.
            amount: quantity * line.unit_price,
            voiding: false,
            deadline: attempt.deadline(),
        })
    }

    /// Commits a raise whose stock and money are reserved. If the line was changed meanwhile, the raise is
    /// aborted and the next try computes a new one. If another part of the order was changed, the commit is tried
    /// again.
    async fn decide_raise(
        &self,
        mut order: OrderDocument,
        raise: &Raise,
        attempt: &Attempt,
    ) -> Result<Option<OrderDocument>, Error> {
        let app = &self.cx;
        while is_decidable(&order, raise) {
            let decision = raised(&order, raise, &self.op);
            let decided = store::decide(app, &order.id, order.revision, &decision, &self.op).await;
            if let Some(after) = decided.decided()? {
                return Ok(Some(after));
            }
            if attempt.is_over() {
                return Err(attempt.overdue());
            }
            let read = store::find(app, &order.id).await?;
            order = read.ok_or_else(|| Error::internal("an order that is gone without a stone"))?;
        }
        undo_raise(app, &order.id, raise).await?;
        Ok(None)
    }
}

/// The decision of a lowered line: its goods are restocked, and its price is refunded, from the newest
/// payment on.
fn lowered(order: &OrderDocument, line: &OrderLine, to: i64, op: &Op) -> Decision {
    let quantity = line.quantity - to;
    let worth = quantity * line.unit_price;
    let mut payments = order.payments.clone();
    let mut gives = Vec::new();
    if quantity > 0 {
        gives.push(Give::Restock { sku: line.sku.clone(), quantity });
    }
    let mut left = worth;
    for payment in payments.iter_mut().rev() {
        let amount = left.min(payment.amount - payment.refunded);
        if amount > 0 {
            payment.refunded += amount;
            left -= amount;
            gives.push(Give::Refund { payment: payment.id.clone(), amount });
        }
    }
    Decision {
        state: order.state,
        lines: with_quantity(order, &line.sku, to),
        total: order.total - worth,
        payments,
        owed: outbox::tagged(op, gives.into_iter()),
        raise: None,
    }
}

/// The decision of a raised line: reserved stock is to be sold, and authorised money to be captured.
fn raised(order: &OrderDocument, raise: &Raise, op: &Op) -> Decision {
    let mut payments = order.payments.clone();
    let (sku, quantity) = (raise.sku.clone(), raise.quantity);
    let mut gives = vec![Give::Sell { sku, quantity, take: raise.tag.clone() }];
    if raise.amount > 0 {
        let payment = raise.payment_id().to_owned();
        payments.push(OrderPayment { id: payment.clone(), amount: raise.amount, refunded: 0 });
        gives.push(Give::Capture { payment });
    }
    Decision {
        state: order.state,
        lines: with_quantity(order, &raise.sku, raise.from + raise.quantity),
        total: order.total + raise.amount,
        payments,
        owed: outbox::tagged(op, gives.into_iter()),
        raise: Some(raise.tag.clone()),
    }
}

fn with_quantity(order: &OrderDocument, sku: &str, quantity: i64) -> Vec<OrderLine> {
    let mut lines = order.lines.clone();
    for line in lines.iter_mut().filter(|line| line.sku == sku) {
        line.quantity = quantity;
    }
    lines
}

/// Reserves the stock and the money. `Some` is the reason why the raise has to be aborted. An error means
/// that it must not be aborted yet.
async fn secure(
    app: &App,
    order: &OrderDocument,
    raise: &Raise,
    charge: &Charge,
    attempt: &Attempt,
) -> Result<Option<Stop<AdjustOrderLineResult>>, Error> {
    let (holder, cap) = (order_as_holder(&order.id), app.config().reservations_per_sku);
    let (sku, tag, quantity) = (&raise.sku, &raise.tag, raise.quantity);
    match inventory::operations::take(app, sku, &holder, tag, quantity, cap, attempt).await? {
        Taken::Taken => {}
        Taken::Short { available } => {
            let (requested, available) = (raise.from + quantity, raise.from + available);
            return Ok(Some(InsufficientStock::new(sku, requested, available).into()));
        }
        Taken::Full => return Ok(Some(crowded().into())),
    }
    Ok(match payments::operations::authorise(app, charge).await {
        Ok(Authorisation::Authorised) => None,
        Ok(Authorisation::Declined(reason)) => Some(PaymentDeclined::new(reason).into()),
        // The outcome is unknown. A void makes the provider refuse the authorisation from now on.
        Err(error) => Some(error.into()),
    })
}

fn is_decidable(order: &OrderDocument, raise: &Raise) -> bool {
    let line = order.lines.iter().find(|line| line.sku == raise.sku);
    order.state == OrderState::Placed
        && order.raises.contains(raise)
        && line.is_some_and(|line| line.quantity == raise.from)
}

/// Aborts a raise and releases what it reserved. Returns `false` if it was already removed or is committed.
/// Must not be called while the reservation of stock has an unknown outcome: it may still be applied before
/// the deadline.
///
/// # Errors
/// The outcome is unknown. The sweep or a repeat tries again.
pub(in super::super) async fn undo_raise(
    app: &App,
    order: &str,
    raise: &Raise,
) -> Result<bool, Error> {
    if store::mark_voiding(app, order, &raise.tag).await.decided()?.is_none() {
        let order = store::find(app, order).await?;
        let given_up = |own: &Raise| own.tag == raise.tag && own.voiding;
        if !order.is_some_and(|order| order.raises.iter().any(given_up)) {
            return Ok(false);
        }
    }
    payer::void(app, raise.payment_id(), raise.amount).await?;
    inventory::operations::release(app, &raise.sku, &order_as_holder(order), &raise.tag).await?;
    store::remove_raise(app, order, &raise.tag).await.decided()?;
    Ok(true)
}

/// Raises whose attempt has ended, each with the id of its order.
pub(in super::super) async fn list_overdue_raises(
    app: &App,
    now: DateTime,
    limit: i64,
) -> Result<Vec<(String, Raise)>, Error> {
    let before = app.bounds().overdue_before(now);
    let orders = store::list_overdue_raises(app, before, limit).await?;
    let overdue = |order: OrderDocument| {
        let raises = order.raises.into_iter().filter(|raise| raise.deadline < before);
        raises.map(move |raise| (order.id.clone(), raise))
    };
    Ok(orders.into_iter().flat_map(overdue).collect())
}
