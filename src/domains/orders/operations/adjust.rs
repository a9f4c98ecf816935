//! Changes of the quantity of a line of a placed order. Lowering commits first and then restocks and refunds;
//! raising reserves first.

use super::{
    super::{
        documents::{Action, OrderDocument, OrderLine, OrderPayment, OrderState, Raise},
        store::{self, Decision, orders},
        types::{AdjustOrderLineInput, AdjustOrderLineResult, OrderNotOpen},
    },
    begin, charges, demand_room, discount, fulfilment, outbox, too_many_holders,
};
use crate::{
    domains::{
        carts::order_as_holder,
        inventory::{
            InsufficientStock,
            operations::{self as inventory, Holder, Reserved},
        },
        paying::Payment,
        payments::{
            Charge,
            operations::{self as payments, refused, void_charge},
        },
    },
    graphql::prelude::*,
};

/// Maximum number of concurrent raises of one order.
const RAISES: usize = 16;

/// Sets the quantity of a line.
pub async fn adjust_order_line(
    cx: Cx<'_>,
    input: AdjustOrderLineInput,
) -> Answer<AdjustOrderLineResult> {
    let input = input.checked()?;
    let op = cx.op(&[input.order_id.as_str(), "adjustOrderLine"], &input);
    let call = &Call { cx, input: &input, op };
    decide(|| begin(cx, &input.order_id), |attempt, order| call.step(attempt, order)).await
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
            if !attempt.is_overdue(raise.deadline) {
                return Ok(Step::Wait);
            }
            undo_raise(app, &order.id, raise).await?;
            return Ok(Step::Again);
        }
        if op.is_committed(&order.ops)? {
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
        let decided = if i64::from(self.input.quantity) > line.quantity {
            self.raise(order, line, attempt).await?
        } else {
            fulfilment::demand_left(order, sku, i64::from(self.input.quantity))?;
            let decision = lowered(order, line, i64::from(self.input.quantity));
            store::decide(app, &decision, op).after().await?
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
        let price = (i64::from(self.input.quantity) - line.quantity) * line.unit_price;
        let cost = charges::cost(order, &line.sku, price)?;
        let raise = self.new_raise(order, line, cost, attempt)?;
        let payment = self.input.payment.as_ref();
        let payment = payment.map_or_else(|| order.payer.clone(), Payment::from);
        let amount = Money::new(raise.amount, order.currency);
        let holder = order_as_holder(&order.id);
        let charge = Charge::new(raise.payment_id(), holder, amount, payment);
        payments::check(self.cx, &charge).await?;
        let noted = store::push_raise(app, order, &raise).within(attempt).after().await?;
        let Some(order) = noted else { return Ok(None) };
        if let Some(lack) = secure(app, &raise, &charge, attempt).await? {
            let was_ours = undo_raise(app, &order.id, &raise).await?;
            return Err(if was_ours { lack } else { attempt.overdue().into() });
        }
        Ok(self.decide_raise(order, &raise, attempt).await?)
    }

    /// The record of a raise. Tag and payment id are derived from the revision as read, which writing the record
    /// raises. So no two tries share them.
    fn new_raise(
        &self,
        order: &OrderDocument,
        line: &OrderLine,
        amount: i64,
        attempt: &Attempt,
    ) -> Result<Raise> {
        if order.raises.len() >= RAISES {
            let reason = "too many changes of this order are in progress; try again in a moment";
            return Err(Error::rate_limited(reason));
        }
        let quantity = i64::from(self.input.quantity) - line.quantity;
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
            // Neither it nor the total can overflow: within the limits of carts no sum of lines does, and with tax the sum was
            // checked.
            amount,
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
    ) -> Result<Option<OrderDocument>> {
        let app = &self.cx;
        while is_decidable(&order, raise) {
            let decided = store::decide(app, &raised(&order, raise), &self.op).after().await?;
            if decided.is_some() {
                return Ok(decided);
            }
            order = outbox::read_again(app, &order.id, attempt).await?;
        }
        undo_raise(app, &order.id, raise).await?;
        Ok(None)
    }
}

/// The decision of a lowered line: its goods are restocked, and its price less its part of the discount is refunded with its
/// tax, from the newest payment on.
pub(super) fn lowered(order: &OrderDocument, line: &OrderLine, to: i64) -> Decision {
    let (mut order, quantity) = (order.clone(), line.quantity - to);
    let mut owed = Vec::new();
    if quantity > 0 {
        owed.push(Action::Restock { sku: line.sku.clone(), quantity });
    }
    let discounted = order.discounted();
    let mut left = discount::lower(&mut order, quantity * line.unit_price);
    left += charges::lower(&mut order, line, to, discounted);
    owed.extend(refunded(&mut order, left));
    set_quantity(&mut order, &line.sku, to);
    Decision { order, owed, raise: None }
}

/// Lowers the total by an amount. Returns the refunds that it takes, from the newest payment on.
fn refunded(order: &mut OrderDocument, amount: i64) -> Vec<Action> {
    order.total -= amount;
    taken_from(order.payments.iter_mut().rev(), amount)
}

/// Lowers the total by an amount that the checkout has paid. Returns the refunds that it takes, from the oldest payment on.
pub(super) fn refunded_of_checkout(order: &mut OrderDocument, amount: i64) -> Vec<Action> {
    order.total -= amount;
    taken_from(order.payments.iter_mut(), amount)
}

/// The refunds that take an amount from these payments, one after the other.
fn taken_from<'a>(
    payments: impl Iterator<Item = &'a mut OrderPayment>,
    mut amount: i64,
) -> Vec<Action> {
    let mut owed = Vec::new();
    for payment in payments {
        let part = amount.min(payment.amount - payment.refunded);
        if part > 0 {
            payment.refunded += part;
            amount -= part;
            owed.push(Action::Refund { payment: payment.id.clone(), amount: part });
        }
    }
    owed
}

/// The decision of a raised line: reserved stock is to be sold, and authorised money to be captured.
fn raised(order: &OrderDocument, raise: &Raise) -> Decision {
    let mut order = order.clone();
    let (sku, quantity) = (raise.sku.clone(), raise.quantity);
    let mut owed = vec![Action::Sell { sku, quantity, raise: raise.tag.clone() }];
    if raise.amount > 0 {
        let (id, amount) = (raise.payment_id().to_owned(), raise.amount);
        owed.push(Action::Capture { payment: id.clone() });
        order.payments.push(OrderPayment { id, amount, refunded: 0 });
    }
    order.total += raise.amount;
    let line = order.lines.iter().find(|line| line.sku == raise.sku);
    let price = line.map_or(0, |line| quantity * line.unit_price);
    charges::add(&mut order, &raise.sku, price, raise.amount);
    set_quantity(&mut order, &raise.sku, raise.from + raise.quantity);
    Decision { order, owed, raise: Some(raise.tag.clone()) }
}

fn set_quantity(order: &mut OrderDocument, sku: &str, quantity: i64) {
    for line in order.lines.iter_mut().filter(|line| line.sku == sku) {
        line.quantity = quantity;
    }
}

/// Reserves the stock and the money. `Some` is the reason why the raise has to be aborted. An error means
/// that it must not be aborted yet.
async fn secure(
    app: &App,
    raise: &Raise,
    charge: &Charge,
    attempt: &Attempt,
) -> Result<Option<Stop<AdjustOrderLineResult>>> {
    let (sku, quantity, cap) = (&raise.sku, raise.quantity, app.config().reservations_per_sku);
    let holder = Holder { app, name: &charge.holder, tag: &raise.tag, attempt };
    match holder.reserve(sku, quantity, cap).await? {
        Reserved::Reserved => {}
        Reserved::Short { available } => {
            let (requested, available) = (raise.from + quantity, raise.from + available);
            return Ok(Some(InsufficientStock::new(sku, requested, available).into()));
        }
        Reserved::Full => return Ok(Some(too_many_holders().into())),
    }
    Ok(refused(payments::authorise(app, charge).await))
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
pub(in super::super) async fn undo_raise(app: &App, order: &str, raise: &Raise) -> Result<bool> {
    if !store::abort_raise(app, order, &raise.tag).held().await? {
        let order = orders(app).get_settled(order).await?;
        let is_voiding = |own: &Raise| own.tag == raise.tag && own.voiding;
        if !order.is_some_and(|order| order.raises.iter().any(is_voiding)) {
            return Ok(false);
        }
    }
    void_charge(app, raise.payment_id(), raise.amount).await?;
    inventory::release(app, &raise.sku, &order_as_holder(order), &raise.tag).await?;
    store::remove_raise(app, order, &raise.tag).held().await?;
    Ok(true)
}
