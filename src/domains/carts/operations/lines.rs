//! What shoppers do to lines: add, set, remove.
//!
//! Each try reads the cart, takes what is missing under a tag of its own, and decides. A try that
//! was refused gives its tag up, releases what it took, and reads again: the cart then either
//! explains the refusal, or is tried again as it is now.

use async_graphql::ID;

use super::{
    super::{
        MOST_LINES, MOST_QUANTITY, MOST_UNIT_PRICE,
        documents::{CartDocument, CartLine, CartPolicy, CartState},
        store,
        types::{AddCartLineResult, RemoveCartLineResult, SetCartLineQuantityResult},
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
        refusals::{
            CartNotActive, Conflict, CurrencyMismatch, InsufficientStock, InvalidInput, NotFound,
            Stop,
        },
        requester::Requester,
    },
    mongo::{
        Run,
        flow::{Op, Standing, is_full},
    },
};

/// Puts `quantity` more of a product into the cart.
///
/// # Errors
/// A refusal, or trouble.
pub async fn add_line(
    app: &App,
    requester: &Requester,
    cart_id: &ID,
    sku: &ID,
    quantity: i64,
    op_id: Option<&ID>,
) -> Result<CartDocument, Stop<AddCartLineResult>> {
    let sku = input::sku(sku)?;
    let quantity = input::within("quantity", quantity, 1..=MOST_QUANTITY)?;
    let call = Call::new(app, requester, cart_id, "addCartLine", op_id, &(&sku, quantity))?;
    let (run, mut now) = call.open().await?;
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
        if let Some(after) = call.add_once(&run, &cart, line).await? {
            return Ok(after);
        }
        now = call.again(&run).await?;
    }
}

/// Sets how many of a product the cart has. Of two that come at once the last wins.
///
/// # Errors
/// A refusal, or trouble.
pub async fn set_line_quantity(
    app: &App,
    requester: &Requester,
    cart_id: &ID,
    sku: &ID,
    quantity: i64,
    op_id: Option<&ID>,
) -> Result<CartDocument, Stop<SetCartLineQuantityResult>> {
    let sku = input::sku(sku)?;
    let quantity = input::within("quantity", quantity, 1..=MOST_QUANTITY)?;
    let input = (&sku, quantity);
    let call = Call::new(app, requester, cart_id, "setCartLineQuantity", op_id, &input)?;
    let (run, mut now) = call.open().await?;
    loop {
        let cart = match now {
            Stand::Applied(cart) => return Ok(cart),
            Stand::Open(cart) => cart,
        };
        let line = line_of(&cart, &sku).ok_or_else(|| NotFound::new("cart line", &sku))?;
        let done = if quantity > line.quantity {
            call.raise_once(&run, &cart, line, quantity).await?
        } else {
            call.lower_once(&run, &cart, line, quantity).await?
        };
        if let Some(after) = done {
            return Ok(after);
        }
        now = call.again(&run).await?;
    }
}

/// Takes a product out of the cart.
///
/// # Errors
/// A refusal, or trouble.
pub async fn remove_line(
    app: &App,
    requester: &Requester,
    cart_id: &ID,
    sku: &ID,
    op_id: Option<&ID>,
) -> Result<CartDocument, Stop<RemoveCartLineResult>> {
    let sku = input::sku(sku)?;
    let call = Call::new(app, requester, cart_id, "removeCartLine", op_id, &sku)?;
    let (run, mut now) = call.open().await?;
    loop {
        let cart = match now {
            Stand::Applied(cart) => return Ok(cart),
            Stand::Open(cart) => cart,
        };
        let line = line_of(&cart, &sku).ok_or_else(|| NotFound::new("cart line", &sku))?;
        if let Some(after) = call.lower_once(&run, &cart, line, 0).await? {
            return Ok(after);
        }
        now = call.again(&run).await?;
    }
}

/// One call of one of these operations.
struct Call<'a> {
    app: &'a App,
    requester: &'a Requester,
    cart_id: String,
    op: Op,
}

/// How the cart stands to a call.
enum Stand {
    /// The call was applied before; this is the cart as it is now.
    Applied(CartDocument),
    /// The call can be tried.
    Open(CartDocument),
}

impl<'a> Call<'a> {
    fn new<U: From<InvalidInput> + From<NotFound>>(
        app: &'a App,
        requester: &'a Requester,
        cart_id: &ID,
        operation: &str,
        op_id: Option<&ID>,
        input: &impl serde::Serialize,
    ) -> Result<Self, Stop<U>> {
        let cart_id = input::id(NodeKind::Cart, cart_id)?;
        let op = input::op(app, &[&cart_id, operation], op_id, input)?;
        Ok(Self { app, requester, cart_id, op })
    }

    /// Begins: the first read of the cart opens the run.
    async fn open<U>(&self) -> Result<(Run, Stand), Stop<U>>
    where
        U: From<NotFound> + From<Conflict> + From<CartNotActive>,
    {
        let (run, cart) = store::open(self.app, &self.cart_id).await?;
        Ok((run, self.stand(cart, &run)?))
    }

    /// After a refusal: the cart as it is now, which may tell why.
    async fn again<U>(&self, run: &Run) -> Result<Stand, Stop<U>>
    where
        U: From<NotFound> + From<Conflict> + From<CartNotActive>,
    {
        let stand = self.stand(store::find_settled(self.app, &self.cart_id).await?, run)?;
        match stand {
            Stand::Open(_) if run.is_over() => Err(run.overdue().into()),
            stand => Ok(stand),
        }
    }

    fn stand<U>(&self, cart: Option<CartDocument>, run: &Run) -> Result<Stand, Stop<U>>
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
            return Err(CartNotActive::new(cart.state.name()).into());
        }
        if is_full(&cart.ops, run.now(), store::bounds(self.app)) {
            return Err(Error::RateLimited("too many changes of this cart").into());
        }
        Ok(Stand::Open(cart))
    }

    /// Tag of the next try: the op, and how many of its tries were given up. A repeat of a try that
    /// was cut has its tag and finds its take; a tag that was given up is never used again.
    fn tag(&self, cart: &CartDocument) -> String {
        let prefix = format!("{}/", self.op.id);
        let given_up = |tag: &str| tag.starts_with(&prefix);
        let tries = cart.ops.iter().filter(|record| record.void && given_up(&record.tag)).count();
        format!("{prefix}{tries}")
    }

    async fn add_once<U>(
        &self,
        run: &Run,
        cart: &CartDocument,
        line: CartLine,
    ) -> Result<Option<CartDocument>, Stop<U>>
    where
        U: From<InsufficientStock>,
    {
        let tag = self.tag(cart);
        let held = self.take(run, cart, &line.sku, line.quantity, None, &tag).await?;
        let more = CartLine { held, ..line };
        let decided = store::add_to_line(self.app, cart, &more, &self.op, &tag, run).await;
        if let Some(after) = decided.decided()? {
            return Ok(Some(after));
        }
        self.undo_take(&more.sku, &tag, held).await?;
        Ok(None)
    }

    async fn raise_once<U>(
        &self,
        run: &Run,
        cart: &CartDocument,
        line: &CartLine,
        quantity: i64,
    ) -> Result<Option<CartDocument>, Stop<U>>
    where
        U: From<InsufficientStock>,
    {
        // The quantity read is part of the tag: another quantity is another take.
        let tag = format!("{}/{}", self.tag(cart), line.quantity);
        let more = quantity - line.quantity;
        let taken = self.take(run, cart, &line.sku, more, Some(line), &tag).await?;
        let held = line.held + taken;
        if let Some(after) = self.decide(run, cart, line, quantity, held, &tag).await? {
            return Ok(Some(after));
        }
        self.undo_take(&line.sku, &tag, taken).await?;
        Ok(None)
    }

    /// The decision comes first: what is to be returned is its outbox. A set to what is there
    /// already is decided all the same, so that its repeat changes nothing later.
    async fn lower_once(
        &self,
        run: &Run,
        cart: &CartDocument,
        line: &CartLine,
        quantity: i64,
    ) -> Result<Option<CartDocument>, Error> {
        let tag = format!("{}/{}", self.tag(cart), line.quantity);
        let held = line.held.min(quantity);
        let decided = self.decide(run, cart, line, quantity, held, &tag).await?;
        if let Some(after) = &decided {
            carry_out_outbox(self.app, after, run).await?;
        }
        Ok(decided)
    }

    async fn decide(
        &self,
        run: &Run,
        cart: &CartDocument,
        read: &CartLine,
        quantity: i64,
        held: i64,
        tag: &str,
    ) -> Result<Option<CartDocument>, Error> {
        let (app, op) = (self.app, &self.op);
        store::set_line(app, cart, read, quantity, held, op, tag, run).await.decided()
    }

    /// Takes what the cart's policy takes now; answers how much of it the cart then holds. What is
    /// short is told in the caller's numbers: for a line that is raised these are those of the whole
    /// line.
    async fn take<U>(
        &self,
        run: &Run,
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
        // Shopping stops reserving at half the cap; the rest is for checkouts.
        let cap = self.app.config().reservations_per_sku / 2;
        let taken =
            inventory::operations::take(self.app, sku, &cart.id, tag, quantity, cap, run).await?;
        match taken {
            Taken::Taken => Ok(quantity),
            Taken::Full => Ok(0),
            Taken::Short { available } => {
                let (has, holds) = raised.map_or((0, 0), |line| (line.quantity, line.held));
                Err(InsufficientStock::new(sku, has + quantity, holds + available).into())
            }
        }
    }

    /// Undoes the take of a try whose decision was refused. First its tag is given up on the cart;
    /// where that is refused it was given up before, or a repeat under the same tag was applied and
    /// the take is its.
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

/// The line to be added, at today's price.
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

/// Whether the cart as read has room; the decision guards on the same.
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
