//! The common part of the rooms' sweeps for checkouts. It finishes or aborts interrupted checkouts, and releases money
//! that is held for no checkout.

use mongodb::bson::DateTime;

use super::{Run, Sale};
use crate::{
    app::App,
    domains::{
        baskets::{self, Basket, CheckedOut, State},
        transfers::{
            self,
            operations::{Held, Holding, OpenAuthorisation},
        },
    },
    error::Result,
    flow::Sweep,
};

/// Number of documents of one kind that one command reads.
const BATCH: i64 = 100;

/// Finishes or aborts interrupted checkouts. Those whose payment provider doesn't answer stay at the front of their lists.
pub async fn sweep_checkouts<S: Sale>(app: &App, sweep: &mut Sweep) {
    let (overdue_before, before) = (sweep.deadline_before(), sweep.unchanged_before());
    let finish =
        |basket: CheckedOut<S::Basket>| async move { finish::<S>(app, &basket.id, before).await };
    for state in [State::Pending, State::Voiding, State::Paid] {
        let list = |from, limit| {
            baskets::list_overdue::<S::Basket>(app, state, from, overdue_before, limit)
        };
        let what = format!("checkouts that are {state}");
        sweep.each_page(&what, BATCH, list, finish).await;
    }
    if tells_apart::<S::Basket>() {
        let list = |from, limit| baskets::list_decided::<S::Basket>(app, from, before, limit);
        sweep.each_page("checkouts that are decided", BATCH, list, finish).await;
    }
}

/// Whether the stored state tells a basket that is PAID without a claim from one that is PAID with a claim.
fn tells_apart<B: Basket>() -> bool {
    B::DECIDED != State::Paid.stored()
}

/// Finishes the checkout of a basket in its own attempt. The attempt that decided without a claim may still have the claim on
/// the payment, so a basket that may be such a one must have been paid before `before`.
async fn finish<S: Sale>(app: &App, id: &str, before: DateTime) -> Result<bool> {
    let (attempt, Some(basket)) = app.begin_with::<S::Basket>(id).await? else {
        return Ok(false);
    };
    let is_running = !tells_apart::<S::Basket>()
        && basket.state() == State::Paid
        && basket.modified_at() >= before;
    let Some(checkout) = basket.checkout().filter(|_| !is_running) else { return Ok(false) };
    let run = Run::<S>::of(app, &basket, checkout, &attempt);
    let is_overdue = attempt.is_overdue(run.terms.deadline);
    if is_overdue {
        run.recover().await?;
    }
    Ok(is_overdue)
}

/// Releases money that is held for a checkout that hasn't decided. Holds of other rooms, and those that can't be released now,
/// stay at the front.
pub async fn sweep_holds<S: Sale>(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let list = |from, limit| transfers::operations::holdings(app, from, before, limit);
    let release = |found: Holding| async move { release_each::<S>(app, &found).await };
    sweep.each_page("holds of money", BATCH, list, release).await;
}

/// Releases the holds of an account that are of this room. Returns whether there was one to release.
async fn release_each<S: Sale>(app: &App, found: &Holding) -> Result<bool> {
    if found.holds.is_empty() {
        transfers::operations::correct_holding(app, &found.account).await?;
        return Ok(false);
    }
    let (mut done, mut failed) = (false, None);
    for held in &found.holds {
        let Some(basket) = S::own_name(&held.cart) else { continue };
        match release::<S>(app, basket, held).await {
            Ok(is_released) => done |= is_released,
            Err(error) => {
                failed.get_or_insert(error);
            }
        }
    }
    failed.map_or(Ok(done), Err)
}

/// Releases a hold unless its checkout has decided. Its attempt has ended, and a repeat of the call can't decide any more once
/// the tag is void.
async fn release<S: Sale>(app: &App, basket: &str, held: &Held) -> Result<bool> {
    let Held { account, payment, tag, .. } = held;
    let found = baskets::baskets::<S::Basket>(app).get_settled(basket).await?;
    let decided_under = |found: &S::Basket| {
        found.checkout().is_some_and(|own| S::Basket::terms(own).tag == Some(tag.as_str()))
    };
    let bounds = baskets::bounds::<S::Basket>(app);
    if found.is_some_and(|found| decided_under(&found))
        || !baskets::baskets::<S::Basket>(app).abort(basket, tag, bounds).await?
    {
        return Ok(false);
    }
    transfers::operations::release(app, account, payment).await.map(|()| true)
}

/// Voids authorisations of the ledger that belong to no checkout. Those of other rooms, and those that can't be voided now, stay
/// at the front.
pub async fn sweep_authorisations<S: Sale>(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let list = |from, limit| transfers::operations::open_authorisations(app, from, before, limit);
    let void = |open: OpenAuthorisation| async move { void::<S>(app, &open).await };
    sweep.each_page("authorisations", BATCH, list, void).await;
}

/// Voids an authorisation that is of this room and belongs to no checkout. Returns whether it is one.
async fn void<S: Sale>(app: &App, open: &OpenAuthorisation) -> Result<bool> {
    let is_left = match open.holder.as_deref().map(S::own_name) {
        Some(Some(name)) => !S::has_payment(app, name, &open.id).await?,
        Some(None) => false,
        None => S::HAS_UNNAMED,
    };
    if !is_left {
        return Ok(false);
    }
    transfers::operations::void(app, &open.id).await.map(|()| true)
}

/// Whether the payment belongs to the basket's checkout, which is in progress or complete.
pub async fn has_payment<B: Basket>(app: &App, basket: &str, payment: &str) -> Result<bool> {
    let found = baskets::baskets::<B>(app).get_settled(basket).await?;
    let is_own = |own: &B::Checkout| B::terms(own).payment_id == payment;
    Ok(found.is_some_and(|found| found.checkout().is_some_and(is_own)))
}
