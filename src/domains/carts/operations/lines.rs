//! Changes of a cart's lines: add, set, remove.
//!
//! Each try reads the cart, reserves what is missing under its own tag, and commits. If the commit is
//! refused, the try voids its tag, releases its reservation and reads the cart again. The cart then either
//! explains the refusal, or the next try starts from its current state.

use async_graphql::ID;

use super::{
    super::{
        MOST_LINES, MOST_QUANTITY, MOST_UNIT_PRICE,
        documents::{CartDocument, CartLine, CartPolicy, CartState},
        store,
        types::{
            AddCartLineResult, CartNotActive, RemoveCartLineResult, SetCartLineQuantityResult,
        },
    },
    carry_out_outbox, visible,
};
use crate::{
    app::App,
    domains::{
        catalog::{self, operations::Offer},
        inventory::{self, operations::Taken},
    },
    error::Error,
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{Conflict, CurrencyMismatch, InsufficientStock, InvalidInput, NotFound, Stop},
        requester::Requester,
    },
    mongo::{
        Attempt,
        flow::{Op, Standing, is_full},
    },
};

/// Adds `quantity` of a product to the cart.
pub async fn add_line(
    app: &App,
    requester: &Requester,
    cart_id: &ID,
    sku: &ID,
    quantity: i64,
    idempotency_key: Option<&ID>,
) -> Result<CartDocument, Stop<AddCartLineResult>> {
    let sku = input::sku(sku)?;
    let quantity = input::within("quantity", quantity, 1..=MOST_QUANTITY)?;
    let call =
        Call::new(app, requester, cart_id, "addCartLine", idempotency_key, &(&sku, quantity))?;
    let (attempt, mut now) = call.open().await?;
    let mut offer = None;
    loop {
        let cart = match now {
            Stand::Applied(cart) => return Ok(cart),
            Stand::Open(cart) => cart,
        };
        if offer.is_none() {
            offer = catalog::operations::offer(app, &sku).await?;
        }
        let line = priced(offer.as_ref(), &cart, &sku, quantity)?;
        has_room(&cart, &sku, quantity)?;
        if let Some(after) = call.add_once(&attempt, &cart, line).await? {
            return Ok(after);
        }
        now = call.again(&attempt).await?;
    }
}

/// Sets the quantity of a product in the cart. Of two concurrent calls the last one wins.
pub async fn set_line_quantity(
    app: &App,
    requester: &Requester,
    cart_id: &ID,
    sku: &ID,
    quantity: i64,
    idempotency_key: Option<&ID>,
) -> Result<CartDocument, Stop<SetCartLineQuantityResult>> {
    let sku = input::sku(sku)?;
    let quantity = input::within("quantity", quantity, 1..=MOST_QUANTITY)?;
    let input = (&sku, quantity);
    let call = Call::new(app, requester, cart_id, "setCartLineQuantity", idempotency_key, &input)?;
    let (attempt, mut now) = call.open().await?;
    loop {
        let cart = match now {
            Stand::Applied(cart) => return Ok(cart),
            Stand::Open(cart) => cart,
        };
        let line = line_of(&cart, &sku).ok_or_else(|| NotFound::new("cart line", &sku))?;
        let done = if quantity > line.quantity {
            call.raise_once(&attempt, &cart, line, quantity).await?
        } else {
            call.lower_once(&attempt, &cart, line, quantity).await?
        };
        if let Some(after) = done {
            return Ok(after);
        }
        now = call.again(&attempt).await?;
    }
}

/// Removes a product from the cart.
pub async fn remove_line(
    app: &App,
    requester: &Requester,
    cart_id: &ID,
    sku: &ID,
    idempotency_key: Option<&ID>,
) -> Result<CartDocument, Stop<RemoveCartLineResult>> {
    let sku = input::sku(sku)?;
    let call = Call::new(app, requester, cart_id, "removeCartLine", idempotency_key, &sku)?;
    let (attempt, mut now) = call.open().await?;
    loop {
        let cart = match now {
            Stand::Applied(cart) => return Ok(cart),
            Stand::Open(cart) => cart,
        };
        let line = line_of(&cart, &sku).ok_or_else(|| NotFound::new("cart line", &sku))?;
        if let Some(after) = call.lower_once(&attempt, &cart, line, 0).await? {
            return Ok(after);
        }
        now = call.again(&attempt).await?;
    }
}

/// One call of one of these operations.
struct Call<'a> {
    app: &'a App,
    requester: &'a Requester,
    cart_id: String,
    op: Op,
}

/// State of a cart relative to a call.
enum Stand {
    /// The call was applied before. This is the current cart.
    Applied(CartDocument),
    /// The call can be tried on this cart.
    Open(CartDocument),
}

impl<'a> Call<'a> {
    fn new<U: From<InvalidInput> + From<NotFound>>(
        app: &'a App,
        requester: &'a Requester,
        cart_id: &ID,
        operation: &str,
        idempotency_key: Option<&ID>,
        input: &impl serde::Serialize,
    ) -> Result<Self, Stop<U>> {
        let cart_id = input::id(NodeKind::Cart, cart_id)?;
        let op = input::op(app, &[&cart_id, operation], idempotency_key, input)?;
        Ok(Self { app, requester, cart_id, op })
    }

    /// Begins an attempt with the cart as its first read.
    async fn open<U>(&self) -> Result<(Attempt, Stand), Stop<U>>
    where
        U: From<NotFound> + From<Conflict> + From<CartNotActive>,
    {
        let (attempt, cart) = store::open(self.app, &self.cart_id).await?;
        Ok((attempt, self.stand(cart, &attempt)?))
    }

    /// Reads the cart again after a refusal, which it may explain.
    async fn again<U>(&self, attempt: &Attempt) -> Result<Stand, Stop<U>>
    where
        U: From<NotFound> + From<Conflict> + From<CartNotActive>,
    {
        let stand = self.stand(store::find_settled(self.app, &self.cart_id).await?, attempt)?;
        match stand {
            Stand::Open(_) if attempt.is_over() => Err(attempt.overdue().into()),
            stand => Ok(stand),
        }
    }

    fn stand<U>(&self, cart: Option<CartDocument>, attempt: &Attempt) -> Result<Stand, Stop<U>>
    where
        U: From<NotFound> + From<Conflict> + From<CartNotActive>,
    {
        let cart = visible(cart, self.requester, &self.cart_id)?;
        match self.op.standing(&self.op.id, &cart.ops) {
            Standing::Applied => return Ok(Stand::Applied(cart)),
            Standing::OtherInput => return Err(Conflict::other_input().into()),
            Standing::New | Standing::Void => {}
        }
        if cart.state != CartState::Active {
            return Err(CartNotActive::new(cart.state).into());
        }
        if is_full(&cart.ops, attempt.now(), store::bounds(self.app)) {
            return Err(Error::RateLimited("too many changes of this cart").into());
        }
        Ok(Stand::Open(cart))
    }

    /// Tag of the next try: the op, and the number of its tries that were aborted. The repeat of an
    /// interrupted try has the same tag and finds its reservation. An aborted tag is never used again.
    fn tag(&self, cart: &CartDocument) -> String {
        let prefix = format!("{}/", self.op.id);
        let given_up = |tag: &str| tag.starts_with(&prefix);
        let tries = cart.ops.iter().filter(|record| record.void && given_up(&record.tag)).count();
        format!("{prefix}{tries}")
    }

    async fn add_once<U>(
        &self,
        attempt: &Attempt,
        cart: &CartDocument,
        line: CartLine,
    ) -> Result<Option<CartDocument>, Stop<U>>
    where
        U: From<InsufficientStock>,
    {
        let tag = self.tag(cart);
        let held = self.take(attempt, cart, &line.sku, line.quantity, None, &tag).await?;
        let more = CartLine { held, ..line };
        let decided = store::add_to_line(self.app, cart, &more, &self.op, &tag, attempt).await;
        if let Some(after) = decided.decided()? {
            return Ok(Some(after));
        }
        self.undo_take(&more.sku, &tag, held).await?;
        Ok(None)
    }

    async fn raise_once<U>(
        &self,
        attempt: &Attempt,
        cart: &CartDocument,
        line: &CartLine,
        quantity: i64,
    ) -> Result<Option<CartDocument>, Stop<U>>
    where
        U: From<InsufficientStock>,
    {
        // The quantity as read is part of the tag: another quantity needs another reservation.
        let tag = format!("{}/{}", self.tag(cart), line.quantity);
        let more = quantity - line.quantity;
        let taken = self.take(attempt, cart, &line.sku, more, Some(line), &tag).await?;
        let held = line.held + taken;
        if let Some(after) = self.decide(attempt, cart, line, quantity, held, &tag).await? {
            return Ok(Some(after));
        }
        self.undo_take(&line.sku, &tag, taken).await?;
        Ok(None)
    }

    /// Commits first, because the stock that is to be returned goes to the outbox. Setting the present
    /// quantity is committed as well, so that a later repeat changes nothing.
    async fn lower_once(
        &self,
        attempt: &Attempt,
        cart: &CartDocument,
        line: &CartLine,
        quantity: i64,
    ) -> Result<Option<CartDocument>, Error> {
        let tag = format!("{}/{}", self.tag(cart), line.quantity);
        let held = line.held.min(quantity);
        let decided = self.decide(attempt, cart, line, quantity, held, &tag).await?;
        if let Some(after) = &decided {
            carry_out_outbox(self.app, after, attempt).await?;
        }
        Ok(decided)
    }

    async fn decide(
        &self,
        attempt: &Attempt,
        cart: &CartDocument,
        read: &CartLine,
        quantity: i64,
        held: i64,
        tag: &str,
    ) -> Result<Option<CartDocument>, Error> {
        let (app, op) = (self.app, &self.op);
        store::set_line(app, cart, read, quantity, held, op, tag, attempt).await.decided()
    }

    /// Reserves what the cart's policy demands now, and returns how much of it the cart then holds. A
    /// shortage is reported in the caller's numbers: for a raised line, those of the whole line.
    async fn take<U>(
        &self,
        attempt: &Attempt,
        cart: &CartDocument,
        sku: &str,
        quantity: i64,
        raised: Option<&CartLine>,
        tag: &str,
    ) -> Result<i64, Stop<U>>
    where
        U: From<InsufficientStock>,
    {
        if cart.policy == CartPolicy::AtCheckout {
            return Ok(0);
        }
        // Lines reserve up to half of the limit. The rest is left for checkouts.
        let cap = self.app.config().reservations_per_sku / 2;
        let taken =
            inventory::operations::take(self.app, sku, &cart.id, tag, quantity, cap, attempt)
                .await?;
        match taken {
            Taken::Taken => Ok(quantity),
            Taken::Full => Ok(0),
            Taken::Short { available } => {
                let (has, holds) = raised.map_or((0, 0), |line| (line.quantity, line.held));
                Err(InsufficientStock::new(sku, has + quantity, holds + available).into())
            }
        }
    }

    /// Undoes the reservation of a try whose commit was refused. First its tag is voided on the cart. If that
    /// is refused, the tag was voided before, or a repeat under the same tag was applied and owns the
    /// reservation.
    async fn undo_take(&self, sku: &str, tag: &str, taken: i64) -> Result<(), Error> {
        if taken == 0 {
            return Ok(());
        }
        let (app, id) = (self.app, &self.cart_id);
        if store::void(app, id, tag).await.decided()?.is_none() {
            let cart = store::find_settled(app, id).await?;
            let applied = |cart: CartDocument| {
                cart.ops.iter().any(|record| record.tag == tag && !record.void)
            };
            if cart.is_some_and(applied) {
                return Ok(());
            }
        }
        inventory::operations::release(app, sku, id, tag).await
    }
}

/// The new line at the current price.
fn priced<U>(
    offer: Option<&Offer>,
    cart: &CartDocument,
    sku: &str,
    quantity: i64,
) -> Result<CartLine, Stop<U>>
where
    U: From<NotFound> + From<CurrencyMismatch> + From<InvalidInput>,
{
    let offer = offer.ok_or_else(|| NotFound::new("product", sku))?;
    if offer.currency != cart.currency {
        return Err(CurrencyMismatch::new(cart.currency, offer.currency).into());
    }
    if offer.unit_price > MOST_UNIT_PRICE {
        return Err(InvalidInput::new("sku", "costs more than a cart can add up").into());
    }
    Ok(CartLine {
        sku: offer.sku.clone(),
        quantity,
        held: 0,
        title: offer.title.clone(),
        kind: offer.kind.clone(),
        unit_price: offer.unit_price,
    })
}

/// Whether the cart as read has room. The commit guards on the same condition.
fn has_room(cart: &CartDocument, sku: &str, quantity: i64) -> Result<(), InvalidInput> {
    match line_of(cart, sku) {
        Some(line) if line.quantity > MOST_QUANTITY - quantity => {
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

fn line_of<'a>(cart: &'a CartDocument, sku: &str) -> Option<&'a CartLine> {
    cart.lines.iter().find(|line| line.sku == sku)
}
