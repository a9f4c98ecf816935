//! Changes of a cart's lines: add, set, remove.
//!
//! Each try reserves what is missing under its own tag, and commits. If the commit is refused, the try's tag is
//! aborted and its reservation released. The cart is then read again: it either explains the refusal, or the
//! next try starts from its current state.

use super::{
    super::{
        MOST_LINES, MOST_QUANTITY, MOST_UNIT_PRICE,
        documents::{CartDocument, CartLine, CartPolicy, CartState},
        store::{self, carts},
        types::{
            AddCartLineInput, AddCartLineResult, CartNotActive, RemoveCartLineInput,
            RemoveCartLineResult, SetCartLineQuantityInput, SetCartLineQuantityResult,
        },
    },
    carry_out_outbox, open,
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
    flow::{Attempt, Change, Op, OtherInput, Step, Try, decide},
    graphql::{
        cx::Cx,
        declared::Input,
        refusals::{CurrencyMismatch, InvalidInput, NotFound, Stop},
    },
};

/// Adds pieces of a product to the cart.
pub async fn add_cart_line(
    cx: Cx<'_>,
    input: AddCartLineInput,
) -> Result<CartDocument, Stop<AddCartLineResult>> {
    let input = &input.checked()?;
    let op = cx.op(&[&input.cart_id, "addCartLine"], input.idempotency_key.as_ref(), &**input);
    let call = &Call { cx, cart_id: &input.cart_id, op };
    call.decide(|attempt, cart| async move {
        let offer = catalog::offer(&cx, &input.sku).await?;
        let (attempt, cart) = (&attempt, &cart);
        let line = priced(offer.as_ref(), cart, input)?;
        has_room(cart, input)?;
        let tag = call.op.tag(&cart.ops);
        let held = call.reserve(attempt, cart, (&line.sku, line.quantity), None, &tag).await?;
        let more = CartLine { held, ..line };
        let change = store::add_to_line(cart, &more);
        Ok(call.commit(attempt, change, &tag, &more.sku, held).await?)
    })
    .await
}

/// Sets the quantity of a product in the cart. Of two concurrent calls the last one wins.
pub async fn set_cart_line_quantity(
    cx: Cx<'_>,
    input: SetCartLineQuantityInput,
) -> Result<CartDocument, Stop<SetCartLineQuantityResult>> {
    let input = &input.checked()?;
    let scope = [&input.cart_id, "setCartLineQuantity"];
    let op = cx.op(&scope, input.idempotency_key.as_ref(), &**input);
    let (call, quantity) = (&Call { cx, cart_id: &input.cart_id, op }, i64::from(input.quantity));
    call.decide(|attempt, cart| async move {
        let (attempt, cart) = (&attempt, &cart);
        let line = line_of(cart, &input.sku)?;
        let missing = quantity - line.quantity;
        if missing <= 0 {
            return Ok(call.lower(attempt, cart, line, quantity).await?);
        }
        // The quantity as read is part of the tag: another quantity needs another reservation.
        let tag = format!("{}/{}", call.op.tag(&cart.ops), line.quantity);
        let reserved = call.reserve(attempt, cart, (&line.sku, missing), Some(line), &tag).await?;
        let change = store::set_line(cart, line, quantity, line.held + reserved, &tag);
        Ok(call.commit(attempt, change, &tag, &line.sku, reserved).await?)
    })
    .await
}

/// Removes a product from the cart.
pub async fn remove_cart_line(
    cx: Cx<'_>,
    input: RemoveCartLineInput,
) -> Result<CartDocument, Stop<RemoveCartLineResult>> {
    let input = &input.checked()?;
    let op = cx.op(&[&input.cart_id, "removeCartLine"], input.idempotency_key.as_ref(), &**input);
    let call = &Call { cx, cart_id: &input.cart_id, op };
    call.decide(|attempt, cart| async move {
        Ok(call.lower(&attempt, &cart, line_of(&cart, &input.sku)?, 0).await?)
    })
    .await
}

/// One call of one of these operations.
struct Call<'a> {
    cx: Cx<'a>,
    cart_id: &'a str,
    op: Op,
}

impl Call<'_> {
    /// Drives the call: `step` is tried on the active cart until the call is applied.
    async fn decide<U, S>(
        &self,
        step: impl Fn(Attempt, CartDocument) -> S,
    ) -> Result<CartDocument, Stop<U>>
    where
        S: Future<Output = Result<Step<CartDocument>, Stop<U>>>,
        U: From<NotFound> + From<CartNotActive>,
        Stop<U>: From<OtherInput>,
    {
        let step = &step;
        let read = || open(self.cx, self.cart_id);
        decide(read, |attempt: Attempt, cart: CartDocument| async move {
            if self.op.is_applied(&cart.ops)? {
                // The earlier call may have been interrupted before it returned stock.
                carry_out_outbox(&self.cx, &cart, &attempt).await?;
                return Ok(Step::Done(cart));
            }
            if cart.state != CartState::Active {
                return Err(CartNotActive::new(cart.state).into());
            }
            let bounds = store::bounds(&self.cx);
            bounds.demand_room(&cart.ops, &attempt, "too many changes of this cart")?;
            step(attempt, cart).await
        })
        .await
    }

    /// Reserves what the cart's policy demands now, and returns how much of it the cart then holds. `has` is the
    /// line that is raised: a shortage is reported for the whole line.
    async fn reserve<U: From<InsufficientStock>>(
        &self,
        attempt: &Attempt,
        cart: &CartDocument,
        (sku, quantity): (&str, i64),
        has: Option<&CartLine>,
        tag: &str,
    ) -> Result<i64, Stop<U>> {
        if cart.policy == CartPolicy::AtCheckout {
            return Ok(0);
        }
        // Lines reserve up to half of the limit. The rest is left for checkouts.
        let cap = self.cx.config().reservations_per_sku / 2;
        let holder = Holder { app: &self.cx, name: &cart.id, tag, attempt };
        match holder.reserve(sku, quantity, cap).await? {
            Reserved::Reserved => Ok(quantity),
            Reserved::Full => Ok(0),
            Reserved::Short { available } => {
                let (has, holds) = has.map_or((0, 0), |line| (line.quantity, line.held));
                Err(InsufficientStock::new(sku, has + quantity, holds + available).into())
            }
        }
    }

    /// Commits a change under a tag, under which `reserved` pieces of the SKU were reserved.
    async fn commit(
        &self,
        attempt: &Attempt,
        change: Change,
        tag: &str,
        sku: &str,
        reserved: i64,
    ) -> Result<Step<CartDocument>, Error> {
        let (app, bounds) = (self.cx.app, store::bounds(&self.cx));
        let undo = (reserved > 0).then(|| inventory::release(app, sku, self.cart_id, tag));
        let attempted = Try { op: &self.op, tag, attempt, bounds };
        Ok(Step::or_again(carts(app).commit(attempted, change, undo).await?))
    }

    /// Lowers a line, or removes it. This commits first, because the stock that is to be returned goes to the
    /// outbox. Setting the present quantity is committed as well, so that a later repeat changes nothing.
    async fn lower(
        &self,
        attempt: &Attempt,
        cart: &CartDocument,
        line: &CartLine,
        quantity: i64,
    ) -> Result<Step<CartDocument>, Error> {
        let tag = format!("{}/{}", self.op.tag(&cart.ops), line.quantity);
        let change = store::set_line(cart, line, quantity, line.held.min(quantity), &tag);
        let step = self.commit(attempt, change, &tag, &line.sku, 0).await?;
        if let Step::Done(after) = &step {
            carry_out_outbox(&self.cx, after, attempt).await?;
        }
        Ok(step)
    }
}

/// The new line at the current price.
fn priced<U>(
    offer: Option<&Offer>,
    cart: &CartDocument,
    input: &AddCartLineInput,
) -> Result<CartLine, Stop<U>>
where
    U: From<NotFound> + From<CurrencyMismatch> + From<InvalidInput>,
{
    let offer = offer.ok_or_else(|| NotFound::new("product", &*input.sku))?;
    if offer.pricing.currency != cart.currency {
        return Err(CurrencyMismatch::new(cart.currency, offer.pricing.currency).into());
    }
    if offer.pricing.retail > MOST_UNIT_PRICE {
        return Err(InvalidInput::new("sku", "costs more than a cart can add up").into());
    }
    Ok(CartLine {
        sku: offer.sku.clone(),
        quantity: i64::from(input.quantity),
        held: 0,
        title: offer.title.clone(),
        kind: offer.kind.clone(),
        unit_price: offer.pricing.retail,
    })
}

/// Whether the cart as read has room. The commit guards on the same condition.
fn has_room(cart: &CartDocument, input: &AddCartLineInput) -> Result<(), InvalidInput> {
    match cart.lines.iter().find(|line| line.sku == *input.sku) {
        Some(line) if line.quantity > MOST_QUANTITY - i64::from(input.quantity) => {
            let reason =
                format!("the cart has {} and takes at most {MOST_QUANTITY}", line.quantity);
            Err(InvalidInput::new("quantity", reason))
        }
        None if cart.lines.len() >= MOST_LINES => {
            Err(InvalidInput::new("sku", format!("a cart takes at most {MOST_LINES} lines")))
        }
        _ => Ok(()),
    }
}

fn line_of<'a>(cart: &'a CartDocument, sku: &str) -> Result<&'a CartLine, NotFound> {
    let line = cart.lines.iter().find(|line| line.sku == sku);
    line.ok_or_else(|| NotFound::new("cart line", sku))
}
