//! Changes of a cart's lines: add, set, remove.
//!
//! Adding and raising reserve first:
//!
//! | command | guard | if the process dies after it |
//! |---|---|---|
//! | reserve on the stock | enough is available; the tag isn't marked; deadline | a repeat finds the mark; the sweep aborts and releases |
//! | commit on the cart | ACTIVE, the owner as read; the cart takes the line; neither op nor tag is recorded; deadline | the change is made |
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

use std::{future::ready, iter, sync::Arc};

use mongodb::bson::Document;

use super::super::{
    MAX_LINES, MAX_QUANTITY, MAX_UNIT_PRICE,
    documents::{CartDocument, CartLine, CartPolicy, CartState},
    store::{self, carts},
    types::{
        AddCartLineInput, AddCartLineResult, CartNotActive, RemoveCartLineInput,
        RemoveCartLineResult, SetCartLineQuantityInput, SetCartLineQuantityResult,
    },
};
use crate::{
    domains::{
        baskets::{Basket as _, begin},
        catalog::operations::{self as catalog, Offer},
        inventory::{
            InsufficientStock,
            operations::{self as inventory, Holder, Reserved},
        },
    },
    flow::Try,
    graphql::{declared::Checked, prelude::*, refusals::CurrencyMismatch},
};

/// Adds pieces of a product to the cart.
pub async fn add_cart_line(cx: Cx<'_>, input: AddCartLineInput) -> Answer<AddCartLineResult> {
    let input = &input.checked()?;
    let (op, offer) = (&addition(cx, input), || catalog::offer(cx.app, &input.sku));
    change_beside(cx, &input.cart_id, op, offer, |call, offer| async move {
        let ready = call.add(input, offer?).await?;
        Ok(call.commit(&ready).await?)
    })
    .await
}

/// Sets the quantity of a product in the cart. Of two concurrent calls the last one wins.
pub async fn set_cart_line_quantity(
    cx: Cx<'_>,
    input: SetCartLineQuantityInput,
) -> Answer<SetCartLineQuantityResult> {
    let input = &input.checked()?;
    let op = &setting(cx, input);
    change(cx, &input.cart_id, op, |call| async move {
        let ready = call.set(input).await?;
        Ok(call.commit(&ready).await?)
    })
    .await
}

/// Removes a product from the cart.
pub async fn remove_cart_line(
    cx: Cx<'_>,
    input: RemoveCartLineInput,
) -> Answer<RemoveCartLineResult> {
    let input = &input.checked()?;
    let op = &cx.op(&[&input.cart_id, "removeCartLine"], input);
    change(cx, &input.cart_id, op, |call| async move {
        let line = call.line(&input.sku)?;
        Ok(call.commit(&call.with_quantity(line, 0, 0)).await?)
    })
    .await
}

/// The op of an addition.
pub(super) fn addition(cx: Cx<'_>, input: &Checked<AddCartLineInput>) -> Op {
    cx.op(&[&input.cart_id, "addCartLine"], input)
}

/// The op of a change of a quantity.
pub(super) fn setting(cx: Cx<'_>, input: &Checked<SetCartLineQuantityInput>) -> Op {
    cx.op(&[&input.cart_id, "setCartLineQuantity"], input)
}

/// Changes an active cart once per op. `step` is tried until its change is committed.
pub(in super::super) async fn change<'a, U, S>(
    cx: Cx<'a>,
    id: &str,
    op: &'a Op,
    step: impl Fn(Call<'a>) -> S,
) -> Result<CartDocument, Stop<U>>
where
    S: Future<Output = Result<Step<CartDocument>, Stop<U>>>,
    U: From<NotFound> + From<CartNotActive> + From<Conflict>,
{
    change_beside(cx, id, op, || ready(()), |call, ()| step(call)).await
}

/// Like [`change`], with a read `beside` that of the cart.
async fn change_beside<'a, U, S, B>(
    cx: Cx<'a>,
    id: &str,
    op: &'a Op,
    beside: impl Fn() -> B,
    step: impl Fn(Call<'a>, B::Output) -> S,
) -> Result<CartDocument, Stop<U>>
where
    B: Future,
    S: Future<Output = Result<Step<CartDocument>, Stop<U>>>,
    U: From<NotFound> + From<CartNotActive> + From<Conflict>,
{
    let (step, beside) = (&step, &beside);
    let read = || async move {
        let (began, other) = tokio::join!(begin::<CartDocument, U>(cx, id), beside());
        let (attempt, cart) = began?;
        Ok((attempt, (cart, other)))
    };
    decide(read, |attempt: Attempt, (cart, other): (CartDocument, B::Output)| async move {
        if op.is_committed(&cart.ops)? {
            // The earlier call may have been interrupted before it returned stock.
            cart.carry_out_outbox(&cx, &attempt).await?;
            return Ok(Step::Done(cart));
        }
        if cart.state != CartState::Active {
            return Err(CartNotActive::new(cart.state).into());
        }
        store::bounds(&cx).demand_room(&cart.ops, &attempt, CartDocument::TOO_MANY)?;
        step(Call { cx, op, attempt, cart: cart.into() }, other).await
    })
    .await
}

/// One try of a change, on the cart as it was read.
pub(in super::super) struct Call<'a> {
    pub(super) cx: Cx<'a>,
    pub(super) op: &'a Op,
    pub(in super::super) attempt: Attempt,
    pub(in super::super) cart: Arc<CartDocument>,
}

/// How the cart as it was read comes to a line.
pub(super) enum Edit {
    /// It doesn't have the SKU: the line is pushed.
    Push,
    /// These pieces are added to a line.
    Grow(CartLine),
    /// The line as it was read gets another quantity.
    Set(CartLine),
}

/// A change of a line that is ready to be committed on the cart as it was read.
pub(super) struct Ready {
    /// Tag of the try.
    pub(super) tag: String,
    /// The line after the change; its quantity is zero if it is removed.
    pub(super) line: CartLine,
    /// Number of pieces that were reserved for it under the tag.
    pub(super) reserved: i64,
    /// Whether it lowers the line, so that stock may have to be returned.
    pub(super) is_lower: bool,
    /// How it comes to this line.
    pub(super) edit: Edit,
}

impl Ready {
    /// The change of the cart as it was read.
    fn change(&self, cart: &CartDocument) -> Change {
        let may = match &self.edit {
            Edit::Push => store::may_push(&self.line),
            Edit::Grow(more) => store::may_grow(more),
            Edit::Set(read) => store::has_as_read(read),
        };
        store::modify(cart, may.guard(), self.set())
    }

    /// The fields that it sets.
    pub(super) fn set(&self) -> Document {
        let Self { tag, line, edit, .. } = self;
        match edit {
            Edit::Push => store::pushed(iter::once(line)),
            Edit::Grow(more) => store::grown(more),
            Edit::Set(read) => store::resized(read, line.quantity, line.reserved, tag),
        }
    }
}

impl Call<'_> {
    /// Commits a change for which nothing is reserved.
    pub(in super::super) async fn commit_change(
        &self,
        change: Change,
    ) -> Result<Step<CartDocument>> {
        let Self { cx, op, attempt, cart } = self;
        let tag = &op.tag(&cart.ops);
        let this_try = Try { op, tag, attempt, bounds: store::bounds(cx) };
        let nothing = None::<std::future::Ready<Result<()>>>;
        Ok(Step::or_again(carts(cx).commit(this_try, change, nothing).await?))
    }

    /// Reserves the pieces of an addition. `offer` is its product as it was read.
    pub(super) async fn add(
        &self,
        input: &Checked<AddCartLineInput>,
        offer: Option<Offer>,
    ) -> Result<Ready, Stop<AddCartLineResult>> {
        let Self { op, cart, .. } = self;
        let (line, quantity) = (new_line(offer, cart, input)?, i64::from(input.quantity));
        let tag = op.tag(&cart.ops);
        let reserved = self.reserve(&line, quantity, &tag).await?;
        let more = CartLine { quantity, reserved, ..line };
        let (line, edit) = match cart.lines.iter().find(|line| line.sku == more.sku) {
            Some(line) => {
                let grown = CartLine {
                    quantity: line.quantity + quantity,
                    reserved: line.reserved + reserved,
                    ..line.clone()
                };
                (grown, Edit::Grow(more))
            }
            None => (more, Edit::Push),
        };
        Ok(Ready { tag, line, reserved, is_lower: false, edit })
    }

    /// Sets a quantity. The pieces by which it is raised are reserved.
    pub(super) async fn set<U: From<NotFound> + From<InsufficientStock>>(
        &self,
        input: &Checked<SetCartLineQuantityInput>,
    ) -> Result<Ready, Stop<U>> {
        let (line, quantity) = (self.line(&input.sku)?, i64::from(input.quantity));
        let more = quantity - line.quantity;
        let reserved =
            if more > 0 { self.reserve(line, more, &self.tag_for(line)).await? } else { 0 };
        Ok(self.with_quantity(line, quantity, reserved))
    }

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

    /// The change of a line to another quantity, for which more pieces may have been reserved. If it is lowered or removed, the stock
    /// that is to be returned goes to the outbox. Setting the present quantity is committed as well, so that a later repeat
    /// changes nothing.
    fn with_quantity(&self, line: &CartLine, quantity: i64, reserved: i64) -> Ready {
        let (tag, is_lower) = (self.tag_for(line), quantity <= line.quantity);
        let held = (line.reserved + reserved).min(quantity);
        let edit = Edit::Set(line.clone());
        let line = CartLine { quantity, reserved: held, ..line.clone() };
        Ready { tag, line, reserved, is_lower, edit }
    }

    /// Commits a change, and returns stock if it has lowered the line.
    pub(super) async fn commit(&self, ready: &Ready) -> Result<Step<CartDocument>> {
        let Self { cx, op, attempt, cart } = self;
        let Ready { tag, line, reserved, is_lower, .. } = ready;
        let undo = (*reserved > 0).then(|| inventory::release(cx, &line.sku, &cart.id, tag));
        let this_try = Try { op, tag, attempt, bounds: store::bounds(cx) };
        let after = carts(cx).commit(this_try, ready.change(cart), undo).await?;
        if let Some(after) = after.as_ref().filter(|_| *is_lower) {
            after.carry_out_outbox(cx, attempt).await?;
        }
        Ok(Step::or_again(after))
    }
}

/// An empty line for the product or variant at its current price, if the cart as read has room for the quantity. The commit
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
            let Offer { sku, title, kind, variant_title, .. } = offer;
            let (quantity, reserved) = (0, 0);
            return Ok(CartLine {
                sku,
                quantity,
                reserved,
                title,
                kind,
                variant_title,
                unit_price,
            });
        }
    };
    Err(InvalidInput::new(field, reason).into())
}
