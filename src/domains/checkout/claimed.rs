//! The checkout with a claim, for payments at an outside provider:
//!
//! ```text
//!           freeze                 pay                       complete
//!   ACTIVE ─────────▶ PENDING ──────────────▶ PAID ────────────────────────▶ COMPLETE
//!     ▲                  │ short, declined,     what is placed, the content
//!     │                  ▼ timed out            sold, the money captured
//!     └────────────── VOIDING
//!       money voided,
//!       reservations released
//! ```
//!
//! *Reserve*: in PENDING, what the basket doesn't hold (tag: the checkout's id), then the money. *Commit*: PENDING → PAID; the
//! abort is PENDING → VOIDING. *Apply*: insert what is placed, sell the content, capture the money, side by side. *Settle*:
//! COMPLETE. If the outcome of a reserve is unknown, the attempt stops, because the reserve may still be applied. After the
//! checkout's deadline it can't be applied any more, and the sweep or a repeat aborts the checkout. An authorisation with an
//! unknown outcome can be voided at once, because its void leaves a tombstone.

use super::{
    Placed, Run, Sale,
    payments::{self, refused, void_charge},
};
use crate::{
    domains::baskets::{self, Basket, State},
    error::Result,
};

impl<S: Sale> Run<'_, S> {
    /// Reserves content and money, commits and applies. Only the attempt that froze the basket calls it. If the outcome of a
    /// reservation is unknown, the checkout must not be aborted yet.
    pub(super) async fn carry_through(self) -> Placed<S> {
        let Self { app, basket, attempt, .. } = self;
        let lack = match S::reserve(self).await? {
            Ok(_took) => refused(payments::authorise(app, &self.charge()).await),
            Err(lack) => Some(lack),
        };
        if let Some(lack) = lack {
            let was_ours = self.undo().await?;
            return Err(if was_ours { lack } else { attempt.overdue().into() });
        }
        let paid = baskets::pay::<S::Basket>(app, basket.id(), self.terms).then_read().await?;
        let Some(paid) = paid else {
            // A sweep or a repeat aborted the checkout, as this attempt is past its deadline.
            return Err(attempt.overdue().into());
        };
        match Run::<S>::new(app, &paid, attempt)?.go_forward().await? {
            Some(placed) => Ok(placed),
            None => self.placed_before().await,
        }
    }

    /// Aborts a checkout that isn't paid. Returns `false` if it is paid or already undone. Must not be called while a
    /// reservation has an unknown outcome: it may still be applied before the deadline.
    pub(super) async fn undo(self) -> Result<bool> {
        let Self { app, basket, terms, .. } = self;
        if baskets::abort::<S::Basket>(app, basket.id(), terms).after().await?.is_none() {
            // The state had changed: the checkout was paid, aborted, or already undone.
            let now = baskets::baskets::<S::Basket>(app).get_settled(basket.id()).await?;
            let is_own = |now: S::Basket| {
                let own = now.checkout().map(|own| S::Basket::terms(own).id);
                now.state() == State::Voiding && own == Some(terms.id)
            };
            if !now.is_some_and(is_own) {
                return Ok(false);
            }
        }
        void_charge(app, terms.payment_id, terms.total).await?;
        S::release(self).await?;
        baskets::reactivate::<S::Basket>(app, basket.id(), terms).held().await?;
        Ok(true)
    }

    /// Applies what a paid checkout owes, and completes the basket. Returns what is placed if this call inserted it.
    pub(super) async fn go_forward(self) -> Result<Option<S::Placed>> {
        let Self { app, basket, terms, .. } = self;
        let capture = async {
            // A payment of zero doesn't exist at the provider.
            if terms.total == 0 {
                return Ok(());
            }
            payments::capture(app, terms.payment_id).await
        };
        let (placed, captured, sold) =
            tokio::join!(S::place(app, S::placed(self)), capture, S::sell(self));
        captured?;
        sold?;
        let placed = placed?;
        baskets::complete::<S::Basket>(app, basket.id(), terms).held().await?;
        S::claim_ended(self);
        Ok(placed)
    }
}
