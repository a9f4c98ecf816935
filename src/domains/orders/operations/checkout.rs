//! The checkout flow: reserve, commit, apply and settle over a cart, the inventory and a payment.

use futures_util::future::join_all;

use super::{
    super::{
        documents::{OrderDocument, OrderLine, OrderPayment, OrderState},
        store::{self, orders},
        types::{CartEmpty, CheckoutCartInput, CheckoutCartResult, CheckoutShort, ShortLine},
    },
    charge, crowded, refused, void,
};
use crate::{
    app::App,
    domains::{
        carts::{
            self, CartDocument, CartLine, CartNotActive, CartState, Checkout, Payment,
            operations::checkout as decider,
        },
        inventory::operations::{self as inventory, Destination, Holder, Reserved},
        payments::{Charge, operations as payments},
    },
    error::Error,
    flow::{Attempt, Op, OtherInput, Step, decide},
    graphql::{
        cx::Cx,
        declared::Input,
        node_id::NodeKind,
        refusals::{NotFound, Stop},
        scalars::Money,
    },
    mongo::Version,
};

/// Checks a cart out, and returns its order.
pub async fn checkout_cart(
    cx: Cx<'_>,
    input: CheckoutCartInput,
) -> Result<OrderDocument, Stop<CheckoutCartResult>> {
    let input = &input.checked()?;
    let (scope, digested) = ([&*input.cart_id, "checkoutCart"], (&input.shipping, &input.payment));
    let op = &cx.op(&scope, input.idempotency_key.as_ref(), &digested);
    let read = || open(cx, &input.cart_id);
    decide(read, |attempt: Attempt, cart: CartDocument| async move {
        let mine = cart.checkout.as_ref().filter(|checkout| checkout.op == op.id);
        match (cart.state, mine) {
            (CartState::Active, _) => {
                let Some(cart) = claim(cx, input, op, &cart, &attempt).await? else {
                    return Ok(Step::Again);
                };
                Ok(Step::Done(carry_through(&cx, &cart, &attempt).await?))
            }
            (state, None) => Err(CartNotActive::new(state).into()),
            (_, Some(checkout)) if checkout.input != op.input => Err(OtherInput.into()),
            (CartState::Complete, Some(_)) => Ok(Step::Done(ordered(&cx, &cart).await?)),
            (_, Some(checkout)) => {
                if !decider::is_overdue(checkout, attempt.now(), cx.bounds()) {
                    return Ok(Step::Wait);
                }
                // Its attempt was interrupted, and none of its writes can still be applied.
                recover(&cx, &cart, &attempt).await?;
                Ok(Step::Again)
            }
        }
    })
    .await
}

async fn open(cx: Cx<'_>, id: &str) -> Result<(Attempt, CartDocument), Stop<CheckoutCartResult>> {
    let (attempt, cart) = decider::open(&cx, id).await?;
    let is_theirs =
        |cart: &CartDocument| cart.owner.as_deref().is_none_or(|owner| cx.requester.is(owner));
    let cart = cart.filter(is_theirs).ok_or_else(|| NotFound::of(NodeKind::Cart, id))?;
    Ok((attempt, cart))
}

/// The current order of a completed cart.
async fn ordered(
    app: &App,
    cart: &CartDocument,
) -> Result<OrderDocument, Stop<CheckoutCartResult>> {
    let id = &claimed(cart)?.id;
    match store::find(app, id).await?.filter(|order| !order.deleted) {
        Some(order) => Ok(order),
        None => Err(NotFound::of(NodeKind::Order, id).into()),
    }
}

/// Begins the checkout: checks what can be refused early, then freezes the cart. Returns `None` if the cart
/// changed.
async fn claim(
    cx: Cx<'_>,
    input: &CheckoutCartInput,
    op: &Op,
    cart: &CartDocument,
    attempt: &Attempt,
) -> Result<Option<CartDocument>, Stop<CheckoutCartResult>> {
    if cart.lines.is_empty() {
        return Err(CartEmpty::because("there is nothing in the cart").into());
    }
    let number = cart.attempts.to_string();
    let derived = |what| cx.ids().derived(&[what, &cart.id, &op.id, &number]);
    let checkout = Checkout {
        id: derived("checkout"),
        payment_id: derived("payment"),
        owner: cx.requester.subject.clone(),
        op: op.id.clone(),
        input: op.input.clone(),
        shipping: input.shipping.clone(),
        payment: Payment::from(&input.payment),
        total: carts::total(&cart.lines),
        deadline: attempt.deadline(),
    };
    payments::check(cx, &charge_of(cart, &checkout)).await?;
    carts::operations::carry_out_outbox(&cx, cart, attempt).await?;
    Ok(decider::claim(&cx, cart, &checkout).within(attempt).after().await?)
}

/// Reserves, commits and applies. Only the attempt that claimed the cart calls it.
async fn carry_through(
    app: &App,
    cart: &CartDocument,
    attempt: &Attempt,
) -> Result<OrderDocument, Stop<CheckoutCartResult>> {
    let checkout = claimed(cart)?;
    if let Some(lack) = secure(app, cart, checkout, attempt).await? {
        let was_ours = undo(app, cart, checkout).await?;
        return Err(if was_ours { lack } else { attempt.overdue().into() });
    }
    let Some(paid) = decider::pay(app, &cart.id, checkout).after().await? else {
        // A sweep or a repeat aborted the checkout, as this attempt is past its deadline.
        return Err(attempt.overdue().into());
    };
    match go_forward(app, &paid, checkout, attempt).await? {
        Some(order) => Ok(order),
        None => ordered(app, &paid).await,
    }
}

/// Reserves the stock and the money. `Some` is the reason why the checkout has to be aborted. An error means
/// that it must not be aborted yet.
async fn secure(
    app: &App,
    cart: &CartDocument,
    checkout: &Checkout,
    attempt: &Attempt,
) -> Result<Option<Stop<CheckoutCartResult>>, Error> {
    if let Some(lack) = reserve_missing(app, cart, checkout, attempt).await? {
        return Ok(Some(lack));
    }
    Ok(refused(payments::authorise(app, &charge_of(cart, checkout)).await))
}

/// Reserves the stock that the cart doesn't hold, in one command. If that doesn't succeed for all lines, it
/// goes line by line in the order of SKUs. From the first short line on it only reads, so that every short
/// line is reported.
async fn reserve_missing(
    app: &App,
    cart: &CartDocument,
    checkout: &Checkout,
    attempt: &Attempt,
) -> Result<Option<Stop<CheckoutCartResult>>, Error> {
    let (missing, cap) = (missing(cart), app.config().reservations_per_sku);
    let lines: Vec<_> = missing.iter().map(|(line, some)| (line.sku.as_str(), *some)).collect();
    let holder = Holder { app, name: &cart.id, tag: &checkout.id, attempt };
    if holder.reserve_each(&lines, cap).await? {
        return Ok(None);
    }
    let mut short = Vec::new();
    for (line, some) in missing {
        let sku = &line.sku;
        let free = if short.is_empty() {
            match holder.reserve(sku, some, cap).await? {
                Reserved::Reserved => None,
                Reserved::Short { available } => Some(available),
                Reserved::Full => return Ok(Some(crowded().into())),
            }
        } else {
            holder.shortage(sku, some).await?
        };
        short.extend(free.map(|free| ShortLine::new(sku, line.quantity, line.held + free)));
    }
    if short.is_empty() { Ok(None) } else { Ok(Some(CheckoutShort::new(short).into())) }
}

/// Lines of which the cart doesn't hold the whole quantity, with the missing quantity, in the order of SKUs.
fn missing(cart: &CartDocument) -> Vec<(&CartLine, i64)> {
    let mut missing: Vec<_> = cart
        .lines
        .iter()
        .map(|line| (line, line.quantity - line.held))
        .filter(|(_, missing)| *missing > 0)
        .collect();
    missing.sort_by(|(left, _), (right, _)| left.sku.cmp(&right.sku));
    missing
}

/// Aborts a checkout that isn't paid. Returns `false` if it is paid or already undone. Must not be called
/// while a reservation of stock has an unknown outcome: it may still be applied before the deadline.
async fn undo(app: &App, cart: &CartDocument, checkout: &Checkout) -> Result<bool, Error> {
    if !decider::abort(app, &cart.id, checkout).await? {
        return Ok(false);
    }
    void(app, &checkout.payment_id, checkout.total).await?;
    let releases = missing(cart)
        .into_iter()
        .map(|(line, _)| inventory::release(app, &line.sku, &cart.id, &checkout.id));
    join_all(releases).await.into_iter().collect::<Result<(), Error>>()?;
    decider::reactivate(app, &cart.id, checkout).held().await?;
    Ok(true)
}

/// Applies what a paid checkout owes and closes the cart. What the cart held beyond that is returned in the
/// background. Returns the order if this call inserted it.
async fn go_forward(
    app: &App,
    cart: &CartDocument,
    checkout: &Checkout,
    attempt: &Attempt,
) -> Result<Option<OrderDocument>, Error> {
    let (orders, order) = (orders(app), placed(cart, checkout, attempt));
    // The checkout's reservations have its id as their tag; these applies have a tag of their own.
    let tag = &format!("{}:sold", checkout.id);
    let holder = Holder { app, name: &cart.id, tag, attempt };
    let lines: Vec<_> = cart.lines.iter().map(|line| (line.sku.as_str(), line.quantity)).collect();
    let capture = async {
        // A payment of zero doesn't exist at the provider.
        if checkout.total == 0 {
            return Ok(());
        }
        payments::capture(app, &checkout.payment_id).await
    };
    let (written, captured, sold) = tokio::join!(
        orders.insert(order.clone()),
        capture,
        holder.apply_each(&lines, Destination::Sold),
    );
    captured?;
    sold?;
    let written = written.decided()?;
    decider::complete(app, &cart.id, checkout).held().await?;
    let (own, cart, attempt) = (app.clone(), cart.clone(), *attempt);
    app.behind("what a checked-out cart still held", async move {
        carts::operations::let_go(&own, &cart, &attempt).await
    });
    Ok(written.map(|()| order))
}

/// Finishes an interrupted checkout: aborts it if it isn't paid, else applies what it owes.
///
/// # Errors
/// The outcome is unknown. The sweep or a repeat tries again.
pub(in super::super) async fn recover(
    app: &App,
    cart: &CartDocument,
    attempt: &Attempt,
) -> Result<(), Error> {
    let checkout = claimed(cart)?;
    match cart.state {
        CartState::Pending | CartState::Voiding => undo(app, cart, checkout).await.map(|_| ()),
        CartState::Paid => go_forward(app, cart, checkout, attempt).await.map(|_| ()),
        _ => Ok(()),
    }
}

fn claimed(cart: &CartDocument) -> Result<&Checkout, Error> {
    cart.checkout.as_ref().ok_or_else(|| Error::internal("a cart without its checkout"))
}

fn charge_of(cart: &CartDocument, checkout: &Checkout) -> Charge {
    let total = Money::new(checkout.total, cart.currency);
    charge(&checkout.payment_id, cart.id.clone(), total, checkout.payment.clone())
}

/// The order document of a checkout.
fn placed(cart: &CartDocument, checkout: &Checkout, attempt: &Attempt) -> OrderDocument {
    let line = |line: &CartLine| OrderLine {
        sku: line.sku.clone(),
        quantity: line.quantity,
        title: line.title.clone(),
        kind: line.kind.clone(),
        unit_price: line.unit_price,
    };
    let payment =
        OrderPayment { id: checkout.payment_id.clone(), amount: checkout.total, refunded: 0 };
    let payments = if payment.amount > 0 { vec![payment] } else { Vec::new() };
    OrderDocument {
        id: checkout.id.clone(),
        cart_id: cart.id.clone(),
        owner: cart.owner.clone(),
        state: OrderState::Placed,
        deleted: false,
        revision: 1,
        currency: cart.currency,
        lines: cart.lines.iter().map(line).collect(),
        total: checkout.total,
        payments,
        shipping: checkout.shipping.clone(),
        payer: checkout.payment.clone(),
        outbox: Vec::new(),
        raises: Vec::new(),
        ops: Vec::new(),
        placed_at: attempt.now(),
        changed_at: attempt.now(),
        v: Version,
    }
}
