//! The checkout flow: reserve, commit, apply and settle over a cart, the inventory and a payment. This is the one with a
//! claim, for payments at an outside provider; `unclaimed` has the other.

use futures_util::future::join_all;

use super::{
    super::{
        documents::{OrderDocument, OrderLine, OrderPayment, OrderState, Stage},
        store::orders,
        types::{CartEmpty, CheckoutCartInput, CheckoutCartResult, CheckoutShort, ShortLine},
    },
    Changed, discount, number, too_many_holders,
};
use crate::{
    app::App,
    domains::{
        carts::{
            self, CartDocument, CartLine, CartNotActive, CartState, Checkout,
            operations::checkout as decider,
        },
        inventory::operations::{self as inventory, Destination, Holder, Reserved},
        paying::Payment,
        payments::{
            Charge,
            operations::{self as payments, needs_no_provider, refused, void_charge},
        },
        transfers::AccountDocument,
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
    mongo::{Version, guarded::Sends},
};

/// Checks a cart out, and returns its order.
pub async fn checkout_cart(cx: Cx<'_>, input: CheckoutCartInput) -> Changed<CheckoutCartResult> {
    let input = &input.checked()?;
    let (scope, digested) = ([&*input.cart_id, "checkoutCart"], (&input.shipping, &input.payment));
    let op = &cx.op(&scope, input.idempotency_key.as_ref(), &digested);
    let account = &Payment::from(&input.payment).account;
    let read = || async move {
        let payer = payments::payer(&cx, account.as_deref());
        let (begun, payer) = tokio::join!(begin(cx, &input.cart_id), payer);
        let (attempt, cart) = begun?;
        Ok((attempt, (cart, payer?)))
    };
    decide(
        read,
        |attempt: Attempt, (cart, payer): (CartDocument, Option<AccountDocument>)| async move {
            let own = cart.checkout.as_ref().filter(|checkout| checkout.op == op.id);
            match (cart.state, own) {
                (CartState::Active, _) if cart.lines.is_empty() => {
                    Err(CartEmpty::because("the cart has no lines").into())
                }
                (CartState::Active, _) if needs_no_provider(&cx, cart.total()) => {
                    discount::check_prices(&cx, &cart).await?;
                    check_out_at_once(cx, input, op, (&cart, payer.as_ref()), &attempt).await
                }
                (CartState::Active, _) => {
                    discount::check_prices(&cx, &cart).await?;
                    let Some(cart) = freeze(cx, input, op, &cart, &attempt).await? else {
                        return Ok(Step::Again);
                    };
                    Ok(Step::Done(Run::new(&cx, &cart, &attempt)?.carry_through().await?))
                }
                (state, None) => Err(CartNotActive::new(state).into()),
                (_, Some(checkout)) if checkout.input != op.input => Err(OtherInput.into()),
                (CartState::Complete, Some(checkout)) => {
                    Ok(Step::Done(ordered(&cx, checkout).await?))
                }
                (CartState::Paid, Some(checkout)) if checkout.tag.is_some() => {
                    Ok(Step::Done(Run::of(&cx, &cart, checkout, &attempt).place().await?))
                }
                (_, Some(checkout)) => {
                    if !attempt.is_overdue(checkout.deadline) {
                        return Ok(Step::Wait);
                    }
                    // Its attempt was interrupted, and none of its writes can still be applied.
                    recover(&cx, &cart, &attempt).await?;
                    Ok(Step::Again)
                }
            }
        },
    )
    .await
}

async fn begin(cx: Cx<'_>, id: &str) -> Result<(Attempt, CartDocument), Stop<CheckoutCartResult>> {
    let (attempt, cart) = decider::begin_with(&cx, id).await?;
    let is_theirs =
        |cart: &CartDocument| cart.owner.as_deref().is_none_or(|owner| cx.requester.is(owner));
    let cart = cart.filter(is_theirs).ok_or_else(|| NotFound::of(NodeKind::CART, id))?;
    Ok((attempt, cart))
}

/// The current order of a completed checkout.
pub(super) async fn ordered(app: &App, checkout: &Checkout) -> Changed<CheckoutCartResult> {
    let order = orders(app).get_settled(&checkout.id).await?.filter(|order| !order.deleted);
    Ok(order.ok_or_else(|| NotFound::of(NodeKind::ORDER, &checkout.id))?)
}

/// The checkout that an attempt begins, with or without a claim. The lines as they were read are part of the tag: other
/// lines need other reservations and another amount.
fn checkout_of(
    cx: Cx<'_>,
    input: &CheckoutCartInput,
    op: &Op,
    cart: &CartDocument,
    attempt: &Attempt,
    is_unclaimed: bool,
) -> Checkout {
    let lines =
        cart.lines.iter().map(|CartLine { sku, quantity, reserved, unit_price, .. }| {
            format!("{quantity} {reserved} {unit_price} {sku}")
        });
    let lines: Vec<String> = lines.chain(discount::part_of_tag(cart)).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let tag = is_unclaimed.then(|| format!("{}/{}", op.tag(&cart.ops), cx.ids().derived(&lines)));
    let number = cart.checkouts.to_string();
    let name = tag.as_ref().map_or_else(|| [&*op.id, &number], |tag| [tag, ""]);
    let derived = |what| cx.ids().derived(&[what, &cart.id, name[0], name[1]]);
    Checkout {
        id: derived("checkout"),
        payment_id: derived("payment"),
        owner: cx.requester.subject.clone(),
        op: op.id.clone(),
        input: op.input.clone(),
        shipping: input.shipping.clone(),
        payment: Payment::from(&input.payment),
        total: cart.total(),
        voucher: discount::hold_of(cart, cx.requester.subject.as_deref()),
        deadline: attempt.deadline(),
        tag,
    }
}

/// A try of a checkout without a claim, of the cart and the payer's account as they were read.
async fn check_out_at_once(
    cx: Cx<'_>,
    input: &CheckoutCartInput,
    op: &Op,
    (cart, payer): (&CartDocument, Option<&AccountDocument>),
    attempt: &Attempt,
) -> Result<Step<OrderDocument>, Stop<CheckoutCartResult>> {
    let checkout = checkout_of(cx, input, op, cart, attempt, true);
    payments::check_payer(cx, &charge_of(cart, &checkout), payer)?;
    carts::operations::carry_out_outbox(&cx, cart, attempt).await?;
    Run::of(&cx, cart, &checkout, attempt).check_out(op).await
}

/// Begins a checkout with a claim, for a payment at an outside provider: freezes the cart. Returns `None` if the cart
/// changed.
async fn freeze(
    cx: Cx<'_>,
    input: &CheckoutCartInput,
    op: &Op,
    cart: &CartDocument,
    attempt: &Attempt,
) -> Result<Option<CartDocument>, Stop<CheckoutCartResult>> {
    let checkout = checkout_of(cx, input, op, cart, attempt, false);
    carts::operations::carry_out_outbox(&cx, cart, attempt).await?;
    let frozen = decider::freeze(&cx, cart, &checkout).within(attempt).then_read().await?;
    let is_ours = |cart: &CartDocument| {
        cart.state == CartState::Pending
            && cart.checkout.as_ref().is_some_and(|now| now.id == checkout.id)
    };
    Ok(frozen.filter(is_ours))
}

pub(super) fn charge_of(cart: &CartDocument, checkout: &Checkout) -> Charge {
    let total = Money::new(checkout.total, cart.currency);
    Charge::new(&checkout.payment_id, cart.id.clone(), total, checkout.payment.clone())
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
    let run = Run::new(app, cart, attempt)?;
    match cart.state {
        CartState::Pending | CartState::Voiding => run.undo().await.map(drop),
        CartState::Paid if run.checkout.tag.is_some() => run.place_and_finish().await,
        CartState::Paid => run.go_forward().await.map(drop),
        _ => Ok(()),
    }
}

/// The checkout of a cart, as an attempt carries it out.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) app: &'a App,
    pub(super) cart: &'a CartDocument,
    pub(super) checkout: &'a Checkout,
    pub(super) attempt: &'a Attempt,
    /// Whether this attempt reserved all that the cart didn't hold, and no copy of a reserve is still on its way.
    pub(super) took: bool,
}

impl<'a> Run<'a> {
    fn new(app: &'a App, cart: &'a CartDocument, attempt: &'a Attempt) -> Result<Self, Error> {
        let checkout = cart.checkout.as_ref();
        let checkout = checkout.ok_or_else(|| Error::internal("a cart without its checkout"))?;
        Ok(Self::of(app, cart, checkout, attempt))
    }

    fn of(
        app: &'a App,
        cart: &'a CartDocument,
        checkout: &'a Checkout,
        attempt: &'a Attempt,
    ) -> Self {
        Self { app, cart, checkout, attempt, took: false }
    }

    /// Reserves stock and money, commits and applies. Only the attempt that froze the cart calls it. If the
    /// outcome of a reservation of stock is unknown, the checkout must not be aborted yet.
    async fn carry_through(self) -> Changed<CheckoutCartResult> {
        let Self { app, cart, checkout, attempt, .. } = self;
        let lack = match self.reserve_missing().await? {
            Ok(_took) => refused(payments::authorise(app, &charge_of(cart, checkout)).await),
            Err(lack) => Some(lack),
        };
        if let Some(lack) = lack {
            let was_ours = self.undo().await?;
            return Err(if was_ours { lack } else { attempt.overdue().into() });
        }
        let Some(paid) = decider::pay(app, &cart.id, checkout).then_read().await? else {
            // A sweep or a repeat aborted the checkout, as this attempt is past its deadline.
            return Err(attempt.overdue().into());
        };
        match Run::new(app, &paid, attempt)?.go_forward().await? {
            Some(order) => Ok(order),
            None => ordered(app, checkout).await,
        }
    }

    /// Reserves the stock that isn't reserved for the cart yet, in one command. If that doesn't succeed for all lines, it
    /// goes line by line in the order of SKUs. From the first short line on it only reads, so that every short
    /// line is reported. Returns whether this attempt reserved everything itself and no copy of a reserve is still on its
    /// way, or the reason why the checkout has to be aborted.
    pub(super) async fn reserve_missing(
        self,
    ) -> Result<Result<bool, Stop<CheckoutCartResult>>, Error> {
        if let Some(lack) = self.reserve_voucher().await? {
            return Ok(Err(lack));
        }
        let (app, missing, cap) =
            (self.app, self.missing(), self.app.config().reservations_per_sku);
        let lines: Vec<_> = missing.iter().map(|(line, some)| (line.sku.as_str(), *some)).collect();
        let (name, tag) = (&self.cart.id, self.checkout.tag());
        let holder = Holder { app, name, tag, attempt: self.attempt };
        if let Some(sends) = holder.reserve_each(&lines, cap).await? {
            return Ok(Ok(sends == Sends::Once));
        }
        let mut short = Vec::new();
        for (CartLine { sku, quantity, reserved, .. }, some) in missing {
            let free = if short.is_empty() {
                match holder.reserve(sku, some, cap).await? {
                    Reserved::Reserved => None,
                    Reserved::Short { available } => Some(available),
                    Reserved::Full => return Ok(Err(too_many_holders().into())),
                }
            } else {
                holder.shortage(sku, some).await?
            };
            short.extend(free.map(|free| ShortLine::new(sku, *quantity, reserved + free)));
        }
        Ok(if short.is_empty() { Ok(false) } else { Err(CheckoutShort::new(short).into()) })
    }

    /// Lines whose quantity isn't wholly reserved, with the missing quantity, in the order of SKUs.
    pub(super) fn missing(self) -> Vec<(&'a CartLine, i64)> {
        let lines = self.cart.lines.iter().map(|line| (line, line.quantity - line.reserved));
        let mut missing: Vec<_> = lines.filter(|(_, missing)| *missing > 0).collect();
        missing.sort_by(|(left, _), (right, _)| left.sku.cmp(&right.sku));
        missing
    }

    /// Aborts a checkout that isn't paid. Returns `false` if it is paid or already undone. Must not be called
    /// while a reservation of stock has an unknown outcome: it may still be applied before the deadline.
    async fn undo(self) -> Result<bool, Error> {
        let Self { app, cart, checkout, .. } = self;
        if !decider::abort(app, &cart.id, checkout).await? {
            return Ok(false);
        }
        void_charge(app, &checkout.payment_id, checkout.total).await?;
        let lines = self.missing().into_iter();
        let releases =
            lines.map(|(line, _)| inventory::release(app, &line.sku, &cart.id, &checkout.id));
        join_all(releases).await.into_iter().collect::<Result<(), Error>>()?;
        self.release_voucher().await?;
        decider::reactivate(app, &cart.id, checkout).held().await?;
        Ok(true)
    }

    /// Applies what a paid checkout owes and closes the cart. What the cart held beyond that is returned in the
    /// background. Returns the order if this call inserted it.
    async fn go_forward(self) -> Result<Option<OrderDocument>, Error> {
        let Self { app, cart, checkout, attempt, .. } = self;
        let order = self.placed();
        // The checkout's reservations have its id as their tag; these applies have a tag of their own.
        let tag = &format!("{}:sold", checkout.id);
        let holder = Holder { app, name: &cart.id, tag, attempt };
        let lines: Vec<_> =
            cart.lines.iter().map(|line| (line.sku.as_str(), line.quantity)).collect();
        let capture = async {
            // A payment of zero doesn't exist at the provider.
            if checkout.total == 0 {
                return Ok(());
            }
            payments::capture(app, &checkout.payment_id).await
        };
        let (written, captured, sold, spent) = tokio::join!(
            number::place(app, order),
            capture,
            holder.apply_each(&lines, Destination::Sold),
            self.spend_voucher(),
        );
        captured?;
        sold?;
        spent?;
        let written = written?;
        decider::complete(app, &cart.id, checkout).held().await?;
        let (own, cart, attempt) = (app.clone(), cart.clone(), *attempt);
        app.in_background("releasing the stock entries of a checked-out cart", async move {
            carts::operations::release_after_checkout(&own, &cart, &attempt).await
        });
        Ok(written)
    }

    /// The order document of the checkout.
    pub(super) fn placed(self) -> OrderDocument {
        let Self { cart, checkout, attempt, .. } = self;
        let line = |line: &CartLine| OrderLine {
            sku: line.sku.clone(),
            quantity: line.quantity,
            title: line.title.clone(),
            kind: line.kind.clone(),
            unit_price: line.unit_price,
        };
        let (id, amount) = (checkout.payment_id.clone(), checkout.total);
        let payment = (amount > 0).then_some(OrderPayment { id, amount, refunded: 0 });
        OrderDocument {
            id: checkout.id.clone(),
            cart_id: cart.id.clone(),
            // `number::place` gives it one.
            number: None,
            owner: cart.owner.clone(),
            state: OrderState::Placed,
            deleted: false,
            revision: 1,
            currency: cart.currency,
            lines: cart.lines.iter().map(line).collect(),
            total: checkout.total,
            discount: self.discount(),
            payments: payment.into_iter().collect(),
            shipping: checkout.shipping.clone(),
            payer: checkout.payment.clone(),
            outbox: Vec::new(),
            raises: Vec::new(),
            stage: Some(Stage::Placed),
            shipments: Vec::new(),
            last_shipment: None,
            returns: Vec::new(),
            return_requested_at: None,
            notes: Vec::new(),
            ops: Vec::new(),
            meta: None,
            placed_at: attempt.now(),
            changed_at: attempt.now(),
            v: Version,
        }
    }
}
