//! The checkout of a cart: what a cart's [checkout](crate::domains::checkout) reserves, sells and places. It reserves the stock
//! that the cart doesn't hold, and moves all of its stock to `sold`. `discount` has the steps of its voucher.

use super::{
    super::{
        documents::{OrderDocument, OrderLine, OrderPayment, OrderState, Stage},
        together::Recount,
        types::{CartEmpty, CheckoutCartInput, CheckoutCartResult, CheckoutShort, ShortLine},
    },
    charges, discount, has_payment, number, too_many_holders,
};
use crate::{
    domains::{
        carts::{self, CartDocument, CartLine, Checkout, vouchers::operations as vouchers},
        checkout::{self, Call, NewCheckout, Run, Sale},
        inventory::operations::{self as inventory, Holder, Reserved},
        paying::Payment,
        payments::of_seats,
    },
    graphql::prelude::*,
    join::join_all,
    mongo::{Version, guarded::Sends},
};

/// Checks a cart out, and returns its order.
pub async fn checkout_cart(cx: Cx<'_>, input: CheckoutCartInput) -> Answer<CheckoutCartResult> {
    let input = &input.checked()?;
    let digested = (&input.shipping, &input.payment);
    let op = &cx.op_of(&[&input.cart_id, "checkoutCart"], input, &digested);
    let call = Call { cx, id: &input.cart_id, op, payment: Payment::from(&input.payment) };
    let checked_out = checkout::check_out::<SaleOfCart>(&call, |new, cart| {
        charges::check_quote(&cx, cart, &input.shipping)?;
        Ok(checkout_of(new, cart, input))
    });
    Box::pin(checked_out).await
}

/// The stored checkout.
fn checkout_of(new: NewCheckout, cart: &CartDocument, input: &CheckoutCartInput) -> Checkout {
    let NewCheckout { id, tag, payment_id, owner, op, input: digest, payment, total, deadline } =
        new;
    Checkout {
        id,
        tag,
        payment_id,
        voucher: vouchers::hold_of(cart, owner.as_deref()),
        quote: cart.current_quote().map(|quote| quote.id.clone()),
        owner,
        op,
        input: digest,
        shipping: input.shipping.clone(),
        payment,
        total,
        deadline,
    }
}

/// The checkout of carts.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct SaleOfCart;

impl Sale for SaleOfCart {
    type Basket = CartDocument;
    type Placed = OrderDocument;
    type Refused = CheckoutCartResult;

    const PLACED: NodeKind = NodeKind::ORDER;
    const HAS_UNNAMED: bool = true;
    const IDS: [&'static str; 2] = ["checkout", "payment"];
    const FINISHING: &'static str = "finishing a checkout";

    fn recorded(name: &str) -> String {
        name.to_owned()
    }

    fn own_name(holder: &str) -> Option<&str> {
        of_seats(holder).is_none().then_some(holder)
    }

    async fn has_payment(app: &App, name: &str, payment: &str) -> Result<bool> {
        match carts::order_of_holder(name) {
            Some(order) => has_payment(app, order, payment).await,
            None => checkout::has_payment::<CartDocument>(app, name, payment).await,
        }
    }

    async fn parts(
        cx: Cx<'_>,
        cart: &CartDocument,
        attempt: &Attempt,
    ) -> Result<Vec<String>, Stop<CheckoutCartResult>> {
        if cart.lines.is_empty() {
            return Err(CartEmpty::because("the cart has no lines").into());
        }
        charges::check_age(&cx, cart, attempt)?;
        discount::check_prices(&cx, cart).await?;
        let caller = cx.requester.subject.as_deref();
        let part = |line: &CartLine| {
            let CartLine { sku, quantity, reserved, unit_price, .. } = line;
            format!("{quantity} {reserved} {unit_price} {sku}")
        };
        let others = [discount::part_of_tag(cart, caller), charges::part_of_tag(cart)];
        Ok(cart.lines.iter().map(part).chain(others.into_iter().flatten()).collect())
    }

    fn placed(run: Run<'_, Self>) -> OrderDocument {
        placed(run)
    }

    /// The order gets its number.
    async fn place(app: &App, order: OrderDocument) -> Result<Option<OrderDocument>> {
        number::place(app, order).await
    }

    fn is_deleted(order: &OrderDocument) -> bool {
        order.deleted
    }

    async fn reserve(run: Run<'_, Self>) -> Result<Result<bool, Stop<CheckoutCartResult>>> {
        match run.reserve_voucher().await? {
            Some(lack) => Ok(Err(lack)),
            None => reserve_missing(run).await,
        }
    }

    async fn release(run: Run<'_, Self>) -> Result<()> {
        let Run { app, basket: cart, terms, .. } = run;
        let releases = missing(cart)
            .into_iter()
            .map(|(line, _)| inventory::release(app, &line.sku, &cart.id, terms.reserves_under()));
        let (goods, voucher) = tokio::join!(join_all(releases), run.release_voucher());
        goods.into_iter().collect::<Result<()>>()?;
        voucher
    }

    async fn sell(run: Run<'_, Self>) -> Result<Sends> {
        let Run { app, basket: cart, terms, attempt, .. } = run;
        // The reservations of a checkout with a claim have its id as their tag; its applies have a tag of their own.
        let tag = terms.tag.map_or_else(|| format!("{}:sold", terms.id), str::to_owned);
        let holder = Holder { app, name: &cart.id, tag: &tag, attempt };
        let lines: Vec<_> =
            cart.lines.iter().map(|line| (line.sku.as_str(), line.quantity)).collect();
        let goods = holder.sell_each(&lines);
        let (sold, spent) = tokio::join!(goods, run.spend_voucher());
        spent?;
        sold
    }

    async fn forget(run: Run<'_, Self>) -> Result<()> {
        let Run { app, basket: cart, attempt, .. } = run;
        let skus = cart.lines.iter().map(|line| line.sku.as_str());
        inventory::forget_sold(app, &cart.id, skus, attempt).await
    }

    /// What the cart held beyond its lines is returned.
    fn claim_ended(run: Run<'_, Self>) {
        let (app, cart, attempt) = (run.app.clone(), run.basket.clone(), *run.attempt);
        run.app.in_background("releasing the stock entries of a checked-out cart", async move {
            carts::operations::release_after_checkout(&app, &cart, &attempt).await
        });
    }
}

/// Reserves the stock that isn't reserved for the cart yet, in one command. If that doesn't succeed for all lines, it
/// goes line by line in the order of SKUs. From the first short line on it only reads, so that every short
/// line is reported. Returns whether this attempt reserved everything itself and no copy of a reserve is still on its
/// way, or the reason why the checkout has to be aborted.
async fn reserve_missing(
    run: Run<'_, SaleOfCart>,
) -> Result<Result<bool, Stop<CheckoutCartResult>>> {
    let Run { app, basket: cart, terms, attempt, .. } = run;
    let (missing, cap) = (missing(cart), app.config().reservations_per_sku);
    let lines: Vec<_> = missing.iter().map(|(line, some)| (line.sku.as_str(), *some)).collect();
    let holder = Holder { app, name: &cart.id, tag: terms.reserves_under(), attempt };
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
fn missing(cart: &CartDocument) -> Vec<(&CartLine, i64)> {
    let lines = cart.lines.iter().map(|line| (line, line.quantity - line.reserved));
    let mut missing: Vec<_> = lines.filter(|(_, missing)| *missing > 0).collect();
    missing.sort_by(|(left, _), (right, _)| left.sku.cmp(&right.sku));
    missing
}

/// The order document of the checkout.
fn placed(run: Run<'_, SaleOfCart>) -> OrderDocument {
    let Run { basket: cart, checkout, attempt, .. } = run;
    let line = |line: &CartLine| OrderLine {
        sku: line.sku.clone(),
        quantity: line.quantity,
        title: line.title.clone(),
        kind: line.kind.clone(),
        variant_title: line.variant_title.clone(),
        unit_price: line.unit_price,
    };
    let lines: Vec<OrderLine> = cart.lines.iter().map(line).collect();
    let (id, amount) = (checkout.payment_id.clone(), checkout.total);
    let payment = (amount > 0).then_some(OrderPayment { id, amount, refunded: 0 });
    OrderDocument {
        id: checkout.id.clone(),
        cart_id: cart.id.clone(),
        // `number::place` gives it one.
        number: None,
        owner: run.owner().map(str::to_owned),
        state: OrderState::Placed,
        deleted: false,
        revision: 1,
        currency: cart.currency,
        skus: OrderDocument::skus_of(&lines),
        lines,
        total: checkout.total,
        discount: run.discount(),
        charges: run.charges(),
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
        recount: Some(Recount::of(&cart.lines, attempt.now())),
        notes: Vec::new(),
        ops: Vec::new(),
        meta: None,
        placed_at: attempt.now(),
        changed_at: attempt.now(),
        v: Version,
    }
}
