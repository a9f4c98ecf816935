//! Changes of a cart's lines: add, set, remove.
//!
//! Adding and raising reserve first:
//!
//! | command | guard | if the process dies after it |
//! |---|---|---|
//! | reserve on the stock | enough is available; the tag isn't marked; deadline | a repeat finds the mark; the sweep aborts and releases |
//! | commit on the cart | ACTIVE, the owner and the line as read; neither op nor tag is recorded; deadline | the change is made |
//!
//! If the commit is refused, the tag is marked void on the cart, the reservation is released, and the cart is read
//! again: it either explains the refusal, or the next try starts from its current state.
//!
//! Lowering and removing commit first:
//!
//! | command | guard | if the process dies after it |
//! |---|---|---|
//! | commit on the cart, with the outbox | as above | a repeat or the sweep applies the outbox |
//! | apply on the stock | enough is reserved; the tag isn't marked; deadline | a repeat or the sweep applies without effect, and settles |
//! | settle on the cart | the entry is in the outbox | the change is made |

use super::{
    super::{
        MAX_LINES, MAX_QUANTITY, MAX_UNIT_PRICE,
        documents::{CartDocument, CartLine, CartPolicy, CartState},
        store::{self, carts},
        types::{
            AddCartLineInput, AddCartLineResult, CartNotActive, RemoveCartLineInput,
            RemoveCartLineResult, SetCartLineQuantityInput, SetCartLineQuantityResult,
        },
    },
    Changed, begin, carry_out_outbox,
};
use crate::{
    domains::{
        catalog::operations::{self as catalog, Offer},
        inventory::{
            InsufficientStock,
            operations::{self as inventory, Holder, Reserved},
        },
    },
    error::Error,
    flow::{Attempt, Change, Op, Step, Try, decide},
    graphql::{
        cx::Cx,
        declared::Input,
        refusals::{Conflict, CurrencyMismatch, InvalidInput, NotFound, Stop},
    },
};

/// Adds pieces of a product to the cart.
pub async fn add_cart_line(cx: Cx<'_>, input: AddCartLineInput) -> Changed<AddCartLineResult> {
    let input = &input.checked()?;
    let op = &cx.op(&[&input.cart_id, "addCartLine"], input.idempotency_key.as_ref(), &**input);
    change(cx, &input.cart_id, op, |call| async move {
        let offer = catalog::offer(&cx, &input.sku).await?;
        let (line, quantity) = (new_line(offer, &call.cart, input)?, i64::from(input.quantity));
        let tag = op.tag(&call.cart.ops);
        let reserved = call.reserve(&line, quantity, &tag).await?;
        let more = CartLine { quantity, reserved, ..line };
        let change = store::add_to_line(&call.cart, &more);
        Ok(call.commit(change, &tag, (&more.sku, reserved)).await?)
    })
    .await
}

/// Sets the quantity of a product in the cart. Of two concurrent calls the last one wins.
pub async fn set_cart_line_quantity(
    cx: Cx<'_>,
    input: SetCartLineQuantityInput,
) -> Changed<SetCartLineQuantityResult> {
    let input = &input.checked()?;
    let scope = [&input.cart_id, "setCartLineQuantity"];
    let op = &cx.op(&scope, input.idempotency_key.as_ref(), &**input);
    let quantity = i64::from(input.quantity);
    change(cx, &input.cart_id, op, |call| async move {
        let line = call.line(&input.sku)?;
        if quantity <= line.quantity {
            return Ok(call.lower(line, quantity).await?);
        }
        let tag = call.tag_for(line);
        let reserved = call.reserve(line, quantity - line.quantity, &tag).await?;
        let change = store::set_line(&call.cart, line, quantity, line.reserved + reserved, &tag);
        Ok(call.commit(change, &tag, (&line.sku, reserved)).await?)
    })
    .await
}

/// Removes a product from the cart.
pub async fn remove_cart_line(
    cx: Cx<'_>,
    input: RemoveCartLineInput,
) -> Changed<RemoveCartLineResult> {
    let input = &input.checked()?;
    let op = &cx.op(&[&input.cart_id, "removeCartLine"], input.idempotency_key.as_ref(), &**input);
    change(cx, &input.cart_id, op, |call| async move {
        Ok(call.lower(call.line(&input.sku)?, 0).await?)
    })
    .await
}

/// Changes an active cart once per op. `step` is tried until its change is committed.
async fn change<'a, U, S>(
    cx: Cx<'a>,
    id: &str,
    op: &'a Op,
    step: impl Fn(Call<'a>) -> S,
) -> Changed<U>
where
    S: Future<Output = Result<Step<CartDocument>, Stop<U>>>,
    U: From<NotFound> + From<CartNotActive> + From<Conflict>,
{
    let (step, read) = (&step, || begin(cx, id));
    decide(read, |attempt: Attempt, cart: CartDocument| async move {
        if op.is_committed(&cart.ops)? {
            // The earlier call may have been interrupted before it returned stock.
            carry_out_outbox(&cx, &cart, &attempt).await?;
            return Ok(Step::Done(cart));
        }
        if cart.state != CartState::Active {
            return Err(CartNotActive::new(cart.state).into());
        }
        let reason = "too many changes of this cart";
        store::bounds(&cx).demand_room(&cart.ops, &attempt, reason)?;
        step(Call { cx, op, attempt, cart }).await
    })
    .await
}

/// One try of a change, on the cart as it was read.
struct Call<'a> {
    cx: Cx<'a>,
    op: &'a Op,
    attempt: Attempt,
    cart: CartDocument,
}

impl Call<'_> {
    fn line(&self, sku: &str) -> Result<&CartLine, NotFound> {
        let line = self.cart.lines.iter().find(|line| line.sku == sku);
        line.ok_or_else(|| NotFound::new("cart line", sku))
    }

    /// Tag for a change of the line's quantity. The quantity as read is part of it: another quantity needs
    /// another reservation.
    fn tag_for(&self, line: &CartLine) -> String {
        format!("{}/{}", self.op.tag(&self.cart.ops), line.quantity)
    }

    /// Reserves `more` pieces for the line if the cart's policy demands it now, and returns how many of them it
    /// reserved. A shortage is reported for the whole line.
    async fn reserve<U: From<InsufficientStock>>(
        &self,
        line: &CartLine,
        more: i64,
        tag: &str,
    ) -> Result<i64, Stop<U>> {
        let Self { cx, attempt, cart, .. } = self;
        if cart.policy == CartPolicy::AtCheckout {
            return Ok(0);
        }
        // Lines reserve up to half of the limit. The rest is left for checkouts.
        let cap = cx.config().reservations_per_sku / 2;
        let holder = Holder { app: cx, name: &cart.id, tag, attempt };
        match holder.reserve(&line.sku, more, cap).await? {
            Reserved::Reserved => Ok(more),
            Reserved::Full => Ok(0),
            Reserved::Short { available } => {
                let (quantity, available) = (line.quantity + more, line.reserved + available);
                Err(InsufficientStock::new(&line.sku, quantity, available).into())
            }
        }
    }

    /// Commits a change under a tag, under which this quantity of the SKU was reserved.
    async fn commit(
        &self,
        change: Change,
        tag: &str,
        (sku, reserved): (&str, i64),
    ) -> Result<Step<CartDocument>, Error> {
        let Self { cx, op, attempt, cart } = self;
        let undo = (reserved > 0).then(|| inventory::release(cx, sku, &cart.id, tag));
        let this_try = Try { op, tag, attempt, bounds: store::bounds(cx) };
        Ok(Step::or_again(carts(cx).commit(this_try, change, undo).await?))
    }

    /// Lowers a line, or removes it. This commits first, because the stock that is to be returned goes to the
    /// outbox. Setting the present quantity is committed as well, so that a later repeat changes nothing.
    async fn lower(&self, line: &CartLine, quantity: i64) -> Result<Step<CartDocument>, Error> {
        let (tag, reserved) = (self.tag_for(line), line.reserved.min(quantity));
        let change = store::set_line(&self.cart, line, quantity, reserved, &tag);
        let step = self.commit(change, &tag, (&line.sku, 0)).await?;
        if let Step::Done(after) = &step {
            carry_out_outbox(&self.cx, after, &self.attempt).await?;
        }
        Ok(step)
    }
}

/// An empty line for the product at its current price, if the cart as read has room for the quantity. The commit
/// guards on the same condition.
fn new_line(
    offer: Option<Offer>,
    cart: &CartDocument,
    input: &AddCartLineInput,
) -> Result<CartLine, Stop<AddCartLineResult>> {
    let offer = offer.ok_or_else(|| NotFound::new("product", &*input.sku))?;
    let (currency, unit_price) = (offer.pricing.currency, offer.pricing.retail);
    if currency != cart.currency {
        return Err(CurrencyMismatch::new(("cart", cart.currency), ("product", currency)).into());
    }
    let (field, reason) = match cart.lines.iter().find(|line| line.sku == *input.sku) {
        _ if unit_price > MAX_UNIT_PRICE => ("sku", "costs more than a cart can add up".into()),
        Some(line) if line.quantity > MAX_QUANTITY - i64::from(input.quantity) => {
            let has = line.quantity;
            ("quantity", format!("the cart has {has} and takes at most {MAX_QUANTITY}"))
        }
        None if cart.lines.len() >= MAX_LINES => {
            ("sku", format!("a cart takes at most {MAX_LINES} lines"))
        }
        _ => {
            let Offer { sku, title, kind, .. } = offer;
            return Ok(CartLine { sku, quantity: 0, reserved: 0, title, kind, unit_price });
        }
    };
    Err(InvalidInput::new(field, reason).into())
}
