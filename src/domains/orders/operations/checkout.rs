//! The checkout flow: reserve, commit, apply and settle over a cart, the inventory and a payment.

use std::time::Duration;

use futures_util::future::join_all;

use super::{
    super::{
        documents::{OrderDocument, OrderLine, OrderPayment, OrderState},
        store,
        types::{
            CartEmpty, CheckoutCartInput, CheckoutCartResult, CheckoutShort, PaymentDeclined,
            ShortLine,
        },
    },
    crowded, payer,
};
use crate::{
    app::App,
    domains::{
        carts::{
            self, Address, CartDocument, CartLine, CartNotActive, CartState, Checkout, Payment,
        },
        inventory::{
            self,
            operations::{Destination, Taken},
        },
        payments::{self, Authorisation, Charge},
    },
    error::Error,
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{Conflict, NotFound, Stop, Unusable},
        requester::Requester,
        scalars::Money,
    },
    mongo::{Attempt, Version, flow::Op},
};

/// Polling interval while another call carries on the same checkout.
const LOOK: Duration = Duration::from_millis(50);

/// The checked input of a call.
struct Ask {
    cart: String,
    shipping: Address,
    payment: Payment,
    op: Op,
}

impl Ask {
    fn checked(app: &App, input: CheckoutCartInput) -> Result<Self, Unusable> {
        let cart = input::id(NodeKind::Cart, &input.cart_id)?;
        let shipping = payer::address("shipping", input.shipping)?;
        let payment = payer::payment("payment", input.payment)?;
        let scope = [cart.as_str(), "checkoutCart"];
        let op = input::op(app, &scope, input.idempotency_key.as_ref(), &(&shipping, &payment))?;
        Ok(Self { cart, shipping, payment, op })
    }
}

/// State of a cart relative to a checkout op.
enum Standing {
    /// The op has created an order.
    Ordered,
    /// An attempt of the op is still running.
    UnderWay,
    /// An attempt of the op was interrupted, and none of its writes can still be applied.
    Cut,
    /// The checkout can begin.
    Open,
    /// The op was begun with another input.
    OtherInput,
    /// The cart can't be checked out.
    Closed,
}

/// Checks a cart out, and returns its order.
pub async fn checkout(
    app: &App,
    requester: &Requester,
    input: CheckoutCartInput,
) -> Result<OrderDocument, Stop<CheckoutCartResult>> {
    let ask = Ask::checked(app, input)?;
    let (first, mut cart) = open(app, requester, &ask.cart).await?;
    let mut attempt = first;
    loop {
        match standing(app, &cart, &ask.op, &attempt) {
            Standing::Ordered => return ordered(app, &cart).await,
            Standing::UnderWay => tokio::time::sleep(LOOK).await,
            Standing::Cut => recover(app, &cart, &attempt).await?,
            Standing::Open => {
                if let Some(cart) = claim(app, requester, &ask, &cart, &attempt).await? {
                    return carry_through(app, &cart, &attempt).await;
                }
            }
            Standing::OtherInput => return Err(Conflict::other_input().into()),
            Standing::Closed => return Err(CartNotActive::new(cart.state).into()),
        }
        if first.is_over() {
            return Err(first.overdue().into());
        }
        (attempt, cart) = open(app, requester, &ask.cart).await?;
    }
}

async fn open(
    app: &App,
    requester: &Requester,
    id: &str,
) -> Result<(Attempt, CartDocument), Stop<CheckoutCartResult>> {
    let (attempt, cart) = carts::operations::checkout::open(app, id).await?;
    let is_theirs =
        |cart: &CartDocument| cart.owner.as_deref().is_none_or(|owner| requester.is(owner));
    match cart.filter(is_theirs) {
        Some(cart) => Ok((attempt, cart)),
        None => Err(NotFound::of(NodeKind::Cart, id).into()),
    }
}

fn standing(app: &App, cart: &CartDocument, op: &Op, attempt: &Attempt) -> Standing {
    let mine = cart.checkout.as_ref().filter(|checkout| checkout.op == op.id);
    match (cart.state, mine) {
        (CartState::Active, _) => Standing::Open,
        (_, None) => Standing::Closed,
        (_, Some(checkout)) if checkout.input != op.input => Standing::OtherInput,
        (CartState::Complete, Some(_)) => Standing::Ordered,
        (_, Some(checkout)) => {
            let cut =
                carts::operations::checkout::is_overdue(checkout, attempt.now(), app.bounds());
            if cut { Standing::Cut } else { Standing::UnderWay }
        }
    }
}

/// The current order of a completed cart.
async fn ordered(
    app: &App,
    cart: &CartDocument,
) -> Result<OrderDocument, Stop<CheckoutCartResult>> {
    let id = &begun(cart)?.id;
    match store::find(app, id).await?.filter(|order| !order.deleted) {
        Some(order) => Ok(order),
        None => Err(NotFound::of(NodeKind::Order, id).into()),
    }
}

/// Begins the checkout: checks what can be refused early, then freezes the cart. Returns `None` if the cart
/// changed.
async fn claim(
    app: &App,
    requester: &Requester,
    ask: &Ask,
    cart: &CartDocument,
    attempt: &Attempt,
) -> Result<Option<CartDocument>, Stop<CheckoutCartResult>> {
    if cart.lines.is_empty() {
        return Err(CartEmpty::default().into());
    }
    let number = cart.attempts.to_string();
    let derived = |what| app.ids().derived(&[what, &cart.id, &ask.op.id, &number]);
    let checkout = Checkout {
        id: derived("checkout"),
        payment_id: derived("payment"),
        owner: requester.subject.clone(),
        op: ask.op.id.clone(),
        input: ask.op.input.clone(),
        shipping: ask.shipping.clone(),
        payment: ask.payment.clone(),
        total: carts::operations::checkout::total(&cart.lines),
        deadline: attempt.deadline(),
    };
    payer::check(app, requester, &charge(cart, &checkout)).await?;
    carts::operations::carry_out_outbox(app, cart, attempt).await?;
    Ok(carts::operations::checkout::claim(app, cart, &checkout, attempt).await?)
}

/// Reserves, commits and applies. Only the attempt that claimed the cart calls it.
async fn carry_through(
    app: &App,
    cart: &CartDocument,
    attempt: &Attempt,
) -> Result<OrderDocument, Stop<CheckoutCartResult>> {
    let checkout = begun(cart)?;
    if let Some(lack) = secure(app, cart, checkout, attempt).await? {
        let was_ours = undo(app, cart, checkout).await?;
        return Err(if was_ours { lack } else { attempt.overdue().into() });
    }
    let Some(paid) = carts::operations::checkout::pay(app, &cart.id, checkout).await? else {
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
    if let Some(lack) = take_missing(app, cart, checkout, attempt).await? {
        return Ok(Some(lack));
    }
    Ok(match payments::operations::authorise(app, &charge(cart, checkout)).await {
        Ok(Authorisation::Authorised) => None,
        Ok(Authorisation::Declined(reason)) => Some(PaymentDeclined::new(reason).into()),
        // The outcome is unknown. A void makes the provider refuse the authorisation from now on.
        Err(error) => Some(error.into()),
    })
}

/// Reserves the stock that the cart doesn't hold, in one command. If that doesn't succeed for all lines, it
/// goes line by line in the order of SKUs. From the first short line on it only reads, so that every short
/// line is reported.
async fn take_missing(
    app: &App,
    cart: &CartDocument,
    checkout: &Checkout,
    attempt: &Attempt,
) -> Result<Option<Stop<CheckoutCartResult>>, Error> {
    let (missing, cap) = (missing(cart), app.config().reservations_per_sku);
    let lines: Vec<_> = missing.iter().map(|(line, some)| (line.sku.as_str(), *some)).collect();
    if inventory::operations::take_each(app, &lines, &cart.id, &checkout.id, cap, attempt).await? {
        return Ok(None);
    }
    let mut short = Vec::new();
    for (line, some) in missing {
        let (sku, tag) = (&line.sku, &checkout.id);
        let free = if short.is_empty() {
            match inventory::operations::take(app, sku, &cart.id, tag, some, cap, attempt).await? {
                Taken::Taken => None,
                Taken::Short { available } => Some(available),
                Taken::Full => return Ok(Some(crowded().into())),
            }
        } else {
            inventory::operations::shortage(app, sku, &cart.id, tag, some).await?
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
    if !carts::operations::checkout::give_up(app, &cart.id, &checkout.id).await? {
        return Ok(false);
    }
    payer::void(app, &checkout.payment_id, checkout.total).await?;
    let releases = missing(cart)
        .into_iter()
        .map(|(line, _)| inventory::operations::release(app, &line.sku, &cart.id, &checkout.id));
    join_all(releases).await.into_iter().collect::<Result<(), Error>>()?;
    carts::operations::checkout::reactivate(app, &cart.id, &checkout.id).await?;
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
    let order = placed(cart, checkout, attempt);
    let (written, captured, sold) = tokio::join!(
        store::insert(app, order.clone()),
        payer::capture(app, &checkout.payment_id, checkout.total),
        sell(app, cart, checkout, attempt),
    );
    captured?;
    sold?;
    let written = written.decided()?;
    carts::operations::checkout::complete(app, &cart.id, &checkout.id).await?;
    let (own, cart, attempt) = (app.clone(), cart.clone(), *attempt);
    app.behind("what a checked-out cart still held", async move {
        carts::operations::let_go(&own, &cart, &attempt).await
    });
    Ok(written.map(|()| order))
}

/// Turns exactly the quantities of the lines into sold stock. The checkout's reservations have its id as
/// their tag; these applies have a tag of their own.
async fn sell(
    app: &App,
    cart: &CartDocument,
    checkout: &Checkout,
    attempt: &Attempt,
) -> Result<(), Error> {
    let tag = format!("{}:sold", checkout.id);
    let lines: Vec<_> = cart.lines.iter().map(|line| (line.sku.as_str(), line.quantity)).collect();
    let sold = Destination::Sold;
    inventory::operations::give_each(app, &lines, &cart.id, &tag, sold, attempt).await
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
    let checkout = begun(cart)?;
    match cart.state {
        CartState::Pending | CartState::Voiding => undo(app, cart, checkout).await.map(|_| ()),
        CartState::Paid => go_forward(app, cart, checkout, attempt).await.map(|_| ()),
        _ => Ok(()),
    }
}

fn begun(cart: &CartDocument) -> Result<&Checkout, Error> {
    cart.checkout.as_ref().ok_or_else(|| Error::internal("a cart without its checkout"))
}

fn charge(cart: &CartDocument, checkout: &Checkout) -> Charge {
    let total = Money::new(checkout.total, cart.currency);
    payer::charge(&checkout.payment_id, cart.id.clone(), total, &checkout.payment)
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
