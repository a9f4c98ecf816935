//! The checkout without a claim, for payments that need no outside provider. `tests/models/README.md` describes and checks the
//! protocol, for carts.
//!
//! 1. Reserve what is missing of the content, and hold the payer's money, side by side under one tag.
//! 2. One update of the ACTIVE basket decides: PAID, if nothing changed since it was read.
//! 3. Insert what is placed and the payment, and answer.
//! 4. Behind the answer: sell the content under the same tag, credit the merchant, and complete the basket.
//!
//! The tag is `{op}/{digest of the input}/{number}/{digest of the content as read}`; the ids of the checkout and of its payment
//! are derived from it. The decision records the op, so that an abort of the tag is refused from then on.
//!
//! A refusal before the decision aborts the tag: it is marked void on the basket, then everything is released. The sweep
//! finds interrupted attempts: before the decision by the marks of the tag on receivers and account, after it by the
//! basket's state.
//!
//! The attempt that inserts the payment (or what is placed, if there is no payment) carries out step 4. Marks stay until no
//! attempt that began before the decision can write any more. The payment's claim ends one grace period after the checkout's
//! deadline; the payer's mark is removed under a later claim. Marks on receivers stay until a sweep removes them, two grace
//! periods after COMPLETE.
//!
//! # Sold reservations are forgotten early
//!
//! Until the sweep, each checkout of a cart would leave an entry in the stock document, which every later write of the SKU
//! rewrites. So an attempt forgets its entries behind the answer ([`Sale::forget`]). Without their marks a late copy of a
//! reserve, or a repeat of the call, reserves once more. That is harmless as long as nobody sells it: the cart is COMPLETE, and
//! the sweep returns the goods two grace periods later. The rules of `tests/models`, which make sure of it:
//!
//! - `one-seller`: only the attempt that inserted the payment sells and forgets, or a sweep, which forgets nothing.
//!   After a checkout without a payment nothing is forgotten: two attempts of one call may believe that they inserted the
//!   same order.
//! - `forget-sell`: the sales were answered, and none was sent twice. A late sale would find no mark.
//! - `forget-took` or `forget-take`, one is enough: the attempt reserved everything of the tag itself, and sent
//!   no reserve twice.
//! - `forget-own`: the attempt completed the cart itself, on a majority.
//! - `forget-deadline` or `take-deadline`, one is enough: the attempt isn't over, and reserves have deadlines.
//! - `forget-empty`: only an empty entry is forgotten.
//! - `sweep-ended`: the sweep returns what the entry of a COMPLETE cart still holds.

use super::{
    Placed, Run, Sale,
    payments::{self, Recorded, refused},
};
use crate::{
    domains::baskets::{self, Basket},
    error::Result,
    flow::{Decider as _, Op, Step},
    graphql::refusals::Stop,
    mongo::{guarded::Sends, unhurried},
};

impl<S: Sale> Run<'_, S> {
    /// Steps 1 to 3 on an ACTIVE basket.
    pub(super) async fn check_out(self, op: &Op) -> Result<Step<S::Placed>, Stop<S::Refused>> {
        let Self { app, basket, checkout, terms, attempt, .. } = self;
        let (tag, bounds) = (terms.reserves_under(), baskets::bounds::<S::Basket>(app));
        bounds.demand_room(basket.ops(), attempt, S::Basket::TOO_MANY)?;
        let charge = self.charge();
        let money = payments::hold(app, &charge, tag, attempt);
        let (reserved, held) = tokio::join!(S::reserve(self), money);
        let took = match (reserved.unwrap_or_else(|error| Err(error.into())), refused(held)) {
            (Ok(took), None) => took,
            (Err(lack), _) | (Ok(_), Some(lack)) => {
                return if self.give_up().await? { Err(lack) } else { Ok(Step::Again) };
            }
        };
        let decision = baskets::decide(basket, checkout).committing(op, tag, bounds);
        let decision = baskets::baskets::<S::Basket>(app).change(decision);
        // The record of the op doesn't tell it: another attempt of this call may have read another owner or other titles.
        let decision = decision.applied_if(baskets::is_decided_by(basket, checkout));
        if decision.within(attempt).held().await? {
            // The content is as it was read, so what is placed needs no other read.
            return Ok(Step::Done(Run { took, ..self }.place().await?));
        }
        self.give_up().await?;
        Ok(Step::Again)
    }

    /// Aborts the tag after a refusal, and releases everything of it. Returns `false` if the tag has decided: another
    /// attempt of the same call was faster.
    ///
    /// # Errors
    /// The outcome is unknown, or the attempt is over: a refusal then tells nothing.
    async fn give_up(self) -> Result<bool> {
        let Self { app, basket, terms, attempt, .. } = self;
        if attempt.is_over() {
            return Err(attempt.overdue());
        }
        let bounds = baskets::bounds::<S::Basket>(app);
        let baskets = baskets::baskets::<S::Basket>(app);
        if !baskets.abort(basket.id(), terms.reserves_under(), bounds).await? {
            return Ok(false);
        }
        let charge = self.charge();
        let (content, money) = tokio::join!(S::release(self), payments::release(app, &charge));
        content?;
        money.map(|()| true)
    }

    /// Step 3 on a decided basket. Step 4 follows in the background.
    pub(super) async fn place(self) -> Placed<S> {
        let Self { app, basket, checkout, attempt, took, .. } = self;
        let (placed, recorded) = self.write().await?;
        let carries_on = match &recorded {
            Recorded::Unneeded => placed.is_some(),
            Recorded::Now(_) => true,
            Recorded::Before => false,
        };
        if carries_on {
            let (own, attempt) = (app.clone(), *attempt);
            let (basket, checkout) = (basket.clone(), checkout.clone());
            app.in_background(S::FINISHING, async move {
                let run = Run::<S>::of(&own, &basket, &checkout, &attempt);
                Run { took, ..run }.finish(recorded, true).await
            });
        }
        match placed {
            Some(placed) => Ok(placed),
            None => self.placed_before().await,
        }
    }

    /// Steps 3 and 4, for the sweep, which forgets nothing.
    pub(super) async fn place_and_finish(self) -> Result<()> {
        let (_placed, recorded) = self.write().await?;
        self.finish(recorded, false).await
    }

    /// Inserts what is placed, and the payment. Returns what is placed if this call inserted it.
    async fn write(self) -> Result<(Option<S::Placed>, Recorded)> {
        let Self { app, terms, attempt, .. } = self;
        let charge = self.charge();
        let record = payments::record(app, &charge, terms.reserves_under(), terms.owner, attempt);
        let (placed, recorded) = tokio::join!(S::place(app, S::placed(self)), record);
        Ok((placed?, recorded?))
    }

    /// Step 4. Behind an answer, sales and completion are sent with the writes of other checkouts: nobody waits for them. The money
    /// is credited at once, because a refund waits for it.
    async fn finish(self, recorded: Recorded, is_behind: bool) -> Result<()> {
        let Self { app, basket, terms, attempt, took, .. } = self;
        let is_inserter = matches!(recorded, Recorded::Now(_));
        let (sold, credited) = tokio::join!(
            unhurried_if(is_behind, S::sell(self)),
            payments::credit(app, terms.payment_id, recorded, attempt),
        );
        let sold = sold?;
        credited?;
        let complete = baskets::complete::<S::Basket>(app, basket.id(), terms).held();
        let completed = unhurried_if(is_behind, complete).await?;
        // The rules of forgetting; see the head of this file.
        if took && is_inserter && sold == Sends::Once && completed {
            S::forget(self).await?;
        }
        Ok(())
    }
}

/// Runs a future, as one for whose writes nobody waits if `is_unhurried`.
async fn unhurried_if<T>(is_unhurried: bool, future: impl Future<Output = T>) -> T {
    if is_unhurried { unhurried(future).await } else { future.await }
}
