//! Adjusting a line of a placed order: lowering decides first and gives back, raising takes first.

use std::time::Duration;

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
        carts::{MOST_QUANTITY, Payment, order_as_holder},
        inventory::{self, operations::Taken},
        payments::{self, Authorisation, Charge},
    },
    error::Error,
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{Conflict, InsufficientStock, NotFound, Stop, Unusable},
        requester::Requester,
        scalars::Money,
    },
    mongo::{
        Run,
        flow::{Op, Standing},
    },
};

/// Pause between two looks at an adjustment that another call carries on.
const LOOK: Duration = Duration::from_millis(50);
/// Lines of one order that may be being raised at the same time.
const RAISES: usize = 16;

/// What was asked for, checked.
struct Ask {
    order: String,
    sku: String,
    quantity: i64,
    payment: Option<Payment>,
    op: Op,
}

impl Ask {
    fn checked(app: &App, given: AdjustOrderLineInput) -> Result<Self, Unusable> {
        let order = input::id(NodeKind::Order, &given.order_id)?;
        let sku = input::sku(&given.sku)?;
        let quantity = input::within("quantity", given.quantity.0, 0..=MOST_QUANTITY)?;
        let payment = given.payment.map(|own| payer::payment("payment", own)).transpose()?;
        let scope = [order.as_str(), "adjustOrderLine"];
        let op = input::op(app, &scope, given.op_id.as_ref(), &(&sku, quantity, &payment))?;
        Ok(Self { order, sku, quantity, payment, op })
    }
}

/// Sets the quantity of a line.
///
/// # Errors
/// A refusal, or trouble.
pub async fn adjust_line(
    app: &App,
    requester: &Requester,
    input: AdjustOrderLineInput,
) -> Result<OrderDocument, Stop<AdjustOrderLineResult>> {
    let ask = Ask::checked(app, input)?;
    let (first, mut order) = open(app, requester, &ask.order).await?;
    let mut run = first;
    loop {
        if let Some(raise) = order.raises.iter().find(|raise| raise.op == ask.op.id) {
            if raise.input != ask.op.input {
                return Err(Conflict::other_input().into());
            }
            if is_overdue(app, raise, &run) {
                undo_raise(app, &order.id, raise).await?;
            } else {
                // A run of this op still goes on.
                tokio::time::sleep(LOOK).await;
            }
        } else if let Some(order) = attempt(app, requester, &ask, &order, &run).await? {
            return Ok(order);
        }
        if first.is_over() {
            return Err(first.overdue().into());
        }
        (run, order) = open(app, requester, &ask.order).await?;
    }
}

/// Decides on the order as read; the order after it, or `None` when it is to be looked at again.
async fn attempt(
    app: &App,
    requester: &Requester,
    ask: &Ask,
    order: &OrderDocument,
    run: &Run,
) -> Result<Option<OrderDocument>, Stop<AdjustOrderLineResult>> {
    match ask.op.standing(&ask.op.id, &order.ops) {
        Standing::Applied => return Ok(outbox::finish(app, order, &ask.op, run).await?),
        Standing::OtherInput => return Err(Conflict::other_input().into()),
        Standing::New | Standing::Void => {}
    }
    if order.state != OrderState::Placed {
        return Err(OrderNotOpen::of(order).into());
    }
    let Some(line) = order.lines.iter().find(|line| line.sku == ask.sku) else {
        return Err(NotFound::new("order line", &ask.sku).into());
    };
    demand_room(app, order, run)?;
    // A line set to what it is already is decided all the same, so that a repeat changes nothing
    // later.
    let decided = if ask.quantity > line.quantity {
        raise(app, requester, ask, order, line, run).await?
    } else {
        let decision = lowered(order, line, ask);
        store::decide(app, &order.id, order.revision, &decision, &ask.op).await.decided()?
    };
    match decided {
        Some(order) => Ok(Some(outbox::carry_out(app, order, &ask.op, run).await?)),
        None => Ok(None),
    }
}

/// What lowering a line makes of an order: the goods go back, and so does the money, from the
/// newest payment on.
fn lowered(order: &OrderDocument, line: &OrderLine, ask: &Ask) -> Decision {
    let quantity = line.quantity - ask.quantity;
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
        lines: with_quantity(order, &ask.sku, ask.quantity),
        total: order.total - worth,
        payments,
        owed: outbox::tagged(&ask.op, gives.into_iter()),
        raise: None,
    }
}

/// What a raised line makes of an order: stock and money that were taken are to be given.
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

/// Raises a line: notes it, takes stock and money, decides. `None` when the order changed.
async fn raise(
    app: &App,
    requester: &Requester,
    ask: &Ask,
    order: &OrderDocument,
    line: &OrderLine,
    run: &Run,
) -> Result<Option<OrderDocument>, Stop<AdjustOrderLineResult>> {
    let raise = begun(app, ask, order, line, run)?;
    let payment = ask.payment.as_ref().unwrap_or(&order.payer);
    let amount = Money::new(raise.amount, order.currency);
    let charge = payer::charge(raise.payment_id(), order_as_holder(&order.id), amount, payment);
    payer::check(app, requester, &charge).await?;
    let noted = store::push_raise(app, &order.id, order.revision, &raise, run).await.decided()?;
    let Some(order) = noted else { return Ok(None) };
    if let Some(lack) = secure(app, &order, &raise, &charge, run).await? {
        let was_ours = undo_raise(app, &order.id, &raise).await?;
        return Err(if was_ours { lack } else { run.overdue().into() });
    }
    Ok(decide(app, ask, order, &raise, run).await?)
}

/// Takes the stock and the money. `Some` is why the raise is to be undone; an error means that it
/// may not be yet.
async fn secure(
    app: &App,
    order: &OrderDocument,
    raise: &Raise,
    charge: &Charge,
    run: &Run,
) -> Result<Option<Stop<AdjustOrderLineResult>>, Error> {
    let (holder, cap) = (order_as_holder(&order.id), app.config().reservations_per_sku);
    let (sku, tag, quantity) = (&raise.sku, &raise.tag, raise.quantity);
    match inventory::operations::take(app, sku, &holder, tag, quantity, cap, run).await? {
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
        // It may have been authorised or may yet be; the void refuses it from here on.
        Err(error) => Some(error.into()),
    })
}

/// The record of an attempt to raise a line. Tag and payment come from the revision as read, which
/// the record itself raises: no two attempts share one.
fn begun(
    app: &App,
    ask: &Ask,
    order: &OrderDocument,
    line: &OrderLine,
    run: &Run,
) -> Result<Raise, Error> {
    if order.raises.len() >= RAISES {
        return Err(Error::RateLimited("too many changes of this order at once"));
    }
    let quantity = ask.quantity - line.quantity;
    let revision = order.revision.to_string();
    let derived = |what| app.ids().derived(&[what, &ask.op.id, &revision]);
    Ok(Raise {
        tag: derived("raise"),
        payment: Some(derived("raise payment")),
        op: ask.op.id.clone(),
        input: ask.op.input.clone(),
        sku: line.sku.clone(),
        from: line.quantity,
        quantity,
        // Can't overflow, nor can the total: within the bounds of carts no sum of lines does.
        amount: quantity * line.unit_price,
        voiding: false,
        deadline: run.deadline(),
    })
}

/// Decides a raise whose stock and money are taken. Where the line was changed meanwhile the raise
/// is undone: another attempt computes anew. Where the rest of the order was, it is decided again.
async fn decide(
    app: &App,
    ask: &Ask,
    mut order: OrderDocument,
    raise: &Raise,
    run: &Run,
) -> Result<Option<OrderDocument>, Error> {
    while is_decidable(&order, raise) {
        let decision = raised(&order, raise, &ask.op);
        let decided = store::decide(app, &order.id, order.revision, &decision, &ask.op).await;
        if let Some(after) = decided.decided()? {
            return Ok(Some(after));
        }
        if run.is_over() {
            return Err(run.overdue());
        }
        let read = store::find(app, &order.id).await?;
        order = read.ok_or_else(|| Error::internal("an order that is gone without a stone"))?;
    }
    undo_raise(app, &order.id, raise).await?;
    Ok(None)
}

fn is_decidable(order: &OrderDocument, raise: &Raise) -> bool {
    let line = order.lines.iter().find(|line| line.sku == raise.sku);
    order.state == OrderState::Placed
        && order.raises.contains(raise)
        && line.is_some_and(|line| line.quantity == raise.from)
}

/// Gives a raise up and gives back what it took; `false` where another did, or it is decided. Not
/// for whoever is unsure about its take of stock: before the deadline it may still come.
///
/// # Errors
/// The outcome is unknown: it is tried again.
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

/// Whether nothing that the run behind the raise sent can be applied any more.
fn is_overdue(app: &App, raise: &Raise, run: &Run) -> bool {
    raise.deadline < app.bounds().overdue_before(run.now())
}

/// Orders with a raise that nobody carries on any more, each with those raises.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub(in super::super) async fn list_overdue_raises(
    app: &App,
    now: DateTime,
    limit: i64,
) -> Result<Vec<(String, Vec<Raise>)>, Error> {
    let before = app.bounds().overdue_before(now);
    let orders = store::list_overdue_raises(app, before, limit).await?;
    let overdue = |order: OrderDocument| {
        let raises = order.raises.into_iter().filter(|raise| raise.deadline < before).collect();
        (order.id, raises)
    };
    Ok(orders.into_iter().map(overdue).collect())
}
