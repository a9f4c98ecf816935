//! The checkout without a claim, for payments that need no outside provider. `tests/models/README.md` describes and
//! checks the protocol.
//!
//! 1. Reserve what is missing of each line, and hold the payer's money, side by side under one tag.
//! 2. One update of the ACTIVE cart decides: PAID, if nothing changed since it was read.
//! 3. Insert the order and the payment, and answer.
//! 4. Behind the answer: sell the goods under the same tag, credit the merchant, and complete the cart.
//!
//! A refusal before the decision aborts the tag: it is marked void on the cart, then everything is released. What an
//! interrupted attempt leaves is found by the sweep: before the decision by the marks of the tag on stock and account,
//! after it by the cart's state.
//!
//! The attempt that inserts the payment (or the order, if there is no payment) carries out step 4. Marks stay until no
//! attempt that began before the decision can write any more: those of the stock until the sweep of carts removes them, two
//! grace periods after COMPLETE, and that of the payer until the claim on the payment has ended.
//!
//! # Sold reservations are forgotten early
//!
//! Until the sweep, each checkout would leave an entry in the stock document, which every later write of the SKU
//! rewrites. So an attempt forgets its entries behind the answer. Without their marks a late copy of a reserve, or a
//! repeat of the call, reserves once more. That is harmless as long as nobody sells it: the cart is COMPLETE, and the
//! sweep returns the goods two grace periods later. The rules of `tests/models`, which make sure of it:
//!
//! - `one-seller`: only the attempt that inserted the payment sells and forgets, or a sweep, which forgets nothing.
//!   After a checkout without a payment nothing is forgotten: two attempts of one call may believe that they inserted the
//!   same order.
//! - `forget-sell`: the sales were answered, and none was sent twice. A late sale would find no mark.
//! - `forget-took` and `forget-take`, of which one is enough: the attempt reserved everything of the tag itself, and sent
//!   no reserve twice.
//! - `forget-own`: the attempt completed the cart itself, on a majority.
//! - `forget-deadline` and `take-deadline`, of which one is enough: the attempt isn't over, and reserves have deadlines.
//! - `forget-empty`: only an empty entry is forgotten.
//! - `sweep-ended`: the sweep returns what the entry of a COMPLETE cart still holds.

use futures_util::future::join_all;

use super::{
    super::{documents::OrderDocument, types::CheckoutCartResult},
    Changed,
    checkout::{Run, charge_of, ordered},
    number,
};
use crate::{
    domains::{
        carts::{CartDocument, Checkout, operations::checkout as decider},
        inventory::operations::{self as inventory, Destination, Holder},
        payments::operations::{self as payments, Recorded, refused},
    },
    error::Error,
    flow::{Op, Step, Try},
    graphql::refusals::Stop,
    mongo::guarded::Sends,
};

impl Run<'_> {
    /// Steps 1 to 3 on an ACTIVE cart.
    pub(super) async fn check_out(
        self,
        op: &Op,
    ) -> Result<Step<OrderDocument>, Stop<CheckoutCartResult>> {
        let Self { app, cart, checkout, attempt, .. } = self;
        let (tag, bounds) = (checkout.tag(), decider::bounds(app));
        bounds.demand_room(&cart.ops, attempt, "too many changes of this cart")?;
        let charge = charge_of(cart, checkout);
        let money = payments::hold(app, &charge, tag, attempt);
        let (missing, held) = tokio::join!(self.reserve_missing(), money);
        let took = match (missing.unwrap_or_else(|error| Err(error.into())), refused(held)) {
            (Ok(took), None) => took,
            (Err(lack), _) | (Ok(_), Some(lack)) => {
                return if self.give_up().await? { Err(lack) } else { Ok(Step::Again) };
            }
        };
        let this_try = Try { op, tag, attempt, bounds };
        let decided = decider::decide_now(this_try, app, cart, checkout).await?;
        if let Some(decided) = decided {
            return Ok(Step::Done(Run { cart: &decided, took, ..self }.place().await?));
        }
        self.give_up().await?;
        Ok(Step::Again)
    }

    /// Aborts the tag after a refusal, and releases everything of it. Returns `false` if the tag has decided: another
    /// attempt of the same call was faster.
    ///
    /// # Errors
    /// The outcome is unknown, or the attempt is over: a refusal then tells nothing.
    async fn give_up(self) -> Result<bool, Error> {
        let Self { app, cart, checkout, attempt, .. } = self;
        if attempt.is_over() {
            return Err(attempt.overdue());
        }
        if !decider::abort_tag(app, &cart.id, checkout.tag()).await? {
            return Ok(false);
        }
        let lines = self.missing().into_iter();
        let goods =
            lines.map(|(line, _)| inventory::release(app, &line.sku, &cart.id, checkout.tag()));
        let charge = charge_of(cart, checkout);
        let (goods, money, voucher) =
            tokio::join!(join_all(goods), payments::release(app, &charge), self.release_voucher(),);
        goods.into_iter().collect::<Result<(), Error>>()?;
        voucher?;
        money.map(|()| true)
    }

    /// Step 3 on a decided cart. Step 4 follows in the background.
    pub(super) async fn place(self) -> Changed<CheckoutCartResult> {
        let Self { app, cart, checkout, attempt, took } = self;
        let (order, recorded) = self.write().await?;
        let carries_on = match &recorded {
            Recorded::Unneeded => order.is_some(),
            Recorded::Now(_) => true,
            Recorded::Before => false,
        };
        if carries_on {
            let (app, attempt) = (app.clone(), *attempt);
            let (cart, checkout): (CartDocument, Checkout) = (cart.clone(), checkout.clone());
            self.app.in_background("finishing a checkout", async move {
                let (app, cart, checkout, attempt) = (&app, &cart, &checkout, &attempt);
                Run { app, cart, checkout, attempt, took }.finish(recorded).await
            });
        }
        match order {
            Some(order) => Ok(order),
            None => ordered(app, checkout).await,
        }
    }

    /// Steps 3 and 4, for the sweep, which forgets nothing.
    pub(super) async fn place_and_finish(self) -> Result<(), Error> {
        let (_order, recorded) = self.write().await?;
        self.finish(recorded).await
    }

    /// Inserts the order and the payment. Returns the order if this call inserted it.
    async fn write(self) -> Result<(Option<OrderDocument>, Recorded), Error> {
        let Self { app, cart, checkout, attempt, .. } = self;
        let (order, charge) = (self.placed(), charge_of(cart, checkout));
        let by = checkout.owner.as_deref();
        let record = payments::record(app, &charge, checkout.tag(), by, attempt);
        let (written, recorded) = tokio::join!(number::place(app, order), record);
        Ok((written?, recorded?))
    }

    /// Step 4.
    async fn finish(self, recorded: Recorded) -> Result<(), Error> {
        let Self { app, cart, checkout, attempt, took } = self;
        let is_inserter = matches!(recorded, Recorded::Now(_));
        let holder = Holder { app, name: &cart.id, tag: checkout.tag(), attempt };
        let lines: Vec<_> =
            cart.lines.iter().map(|line| (line.sku.as_str(), line.quantity)).collect();
        let (sold, credited, spent) = tokio::join!(
            holder.apply_each(&lines, Destination::Sold),
            payments::credit(app, &checkout.payment_id, recorded, attempt),
            self.spend_voucher(),
        );
        let sold = sold?;
        credited?;
        spent?;
        let completed = decider::complete(app, &cart.id, checkout).held().await?;
        // The rules of forgetting; see the head of this file.
        if took && is_inserter && sold == Sends::Once && completed {
            let skus = cart.lines.iter().map(|line| line.sku.as_str());
            inventory::forget_sold(app, &cart.id, skus, attempt).await?;
        }
        Ok(())
    }
}
