//! The steps of a checkout of a booking; see `checkout`.

use futures_util::future::join_all;

use super::{
    super::{
        documents::{
            BookingDocument, BookingState, Checkout, ReceiptDocument, ReceiptPayment, ReceiptState,
        },
        store::{self, bookings, receipts, screenings},
        types::CheckoutBookingResult,
    },
    checkout::{CheckedOut, paid},
};
use crate::{
    domains::payments::{
        Charge, for_seats,
        operations::{self as payments, Recorded, refused, void_charge},
    },
    graphql::prelude::*,
    mongo::{Version, batched},
};

/// The checkout of a booking, as an attempt carries it out.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    app: &'a App,
    booking: &'a BookingDocument,
    pub(super) checkout: &'a Checkout,
    attempt: &'a Attempt,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        app: &'a App,
        booking: &'a BookingDocument,
        attempt: &'a Attempt,
    ) -> Result<Self> {
        let checkout = booking.checkout.as_ref();
        let checkout = checkout.ok_or_else(|| Error::internal("a booking without its checkout"))?;
        Ok(Self::of(app, booking, checkout, attempt))
    }

    pub(super) fn of(
        app: &'a App,
        booking: &'a BookingDocument,
        checkout: &'a Checkout,
        attempt: &'a Attempt,
    ) -> Self {
        Self { app, booking, checkout, attempt }
    }

    pub(super) fn charge(self) -> Charge {
        let Self { booking, checkout, .. } = self;
        let total = Money::new(checkout.total, booking.currency);
        let holder = for_seats(&booking.id);
        Charge::new(&checkout.payment_id, holder, total, checkout.payment.clone())
    }

    /// Tag of a checkout without a claim.
    fn tag(self) -> &'a str {
        self.checkout.tag.as_deref().unwrap_or_default()
    }

    /// Steps 1 to 3 on an ACTIVE booking.
    pub(super) async fn check_out(
        self,
        op: &Op,
    ) -> Result<Step<ReceiptDocument>, Stop<CheckoutBookingResult>> {
        let Self { app, booking, checkout, attempt } = self;
        let bounds = store::bounds(app);
        bounds.demand_room(&booking.ops, attempt, "too many changes of this booking")?;
        let held = payments::hold(app, &self.charge(), self.tag(), attempt).await;
        if let Some(lack) = refused(held) {
            return if self.give_up().await? { Err(lack) } else { Ok(Step::Again) };
        }
        let decision = store::decide(booking, checkout).committing(op, self.tag(), bounds);
        let decided = bookings(app).change(decision).within(attempt).then_read().await?;
        if let Some(decided) = decided {
            let run = Run { booking: &decided, ..self };
            return Ok(Step::Done(run.place().await?));
        }
        self.give_up().await?;
        Ok(Step::Again)
    }

    /// Aborts the tag after a refusal, and releases the money. Returns `false` if the tag has decided: another attempt of
    /// the same call was faster.
    ///
    /// # Errors
    /// The outcome is unknown, or the attempt is over: a refusal then tells nothing.
    async fn give_up(self) -> Result<bool> {
        let Self { app, booking, attempt, .. } = self;
        if attempt.is_over() {
            return Err(attempt.overdue());
        }
        if !bookings(app).abort(&booking.id, self.tag(), store::bounds(app)).await? {
            return Ok(false);
        }
        payments::release(app, &self.charge()).await.map(|()| true)
    }

    /// Step 3 on a decided booking. Step 4 follows in the background.
    pub(super) async fn place(self) -> CheckedOut {
        let Self { app, booking, checkout, attempt } = self;
        let (receipt, recorded) = self.write().await?;
        let carries_on = match &recorded {
            Recorded::Unneeded => receipt.is_some(),
            Recorded::Now(_) => true,
            Recorded::Before => false,
        };
        if carries_on {
            let (own, attempt) = (app.clone(), *attempt);
            let (booking, checkout) = (booking.clone(), checkout.clone());
            app.in_background("finishing the checkout of a booking", async move {
                Run::of(&own, &booking, &checkout, &attempt).finish(recorded).await
            });
        }
        match receipt {
            Some(receipt) => Ok(receipt),
            None => paid(app, checkout).await,
        }
    }

    /// Inserts the receipt and the payment. Returns the receipt if this call inserted it.
    pub(super) async fn write(self) -> Result<(Option<ReceiptDocument>, Recorded)> {
        let Self { app, checkout, attempt, .. } = self;
        let (receipts, receipt, charge) = (receipts(app), self.receipt(), self.charge());
        let by = checkout.owner.as_deref();
        let record = payments::record(app, &charge, self.tag(), by, attempt);
        let (written, recorded) = tokio::join!(receipts.insert(receipt.clone()), record);
        let written = written.decided()?;
        Ok((written.map(|()| receipt), recorded?))
    }

    /// Step 4.
    pub(super) async fn finish(self, recorded: Recorded) -> Result<()> {
        let Self { app, booking, checkout, attempt } = self;
        let (sold, credited) = tokio::join!(
            self.sell(),
            payments::credit(app, &checkout.payment_id, recorded, attempt),
        );
        sold?;
        credited?;
        store::complete(app, &booking.id, checkout).held().await.map(|_was_paid| ())
    }

    /// Sells the seats of all holds.
    async fn sell(self) -> Result<()> {
        let Self { app, booking, checkout, attempt } = self;
        let sales = booking.holds.iter().map(|hold| async move {
            let selling =
                store::selling(&hold.screening_id, &hold.tag, &hold.places(), &checkout.id);
            // A refusal means that they were sold before.
            screenings(app).write(&selling, attempt).await.map(drop)
        });
        batched(join_all(sales)).await.into_iter().collect()
    }

    /// Authorises the payment, commits and applies, with a claim. Only the attempt that froze the booking calls it.
    pub(super) async fn carry_through(self) -> CheckedOut {
        let Self { app, booking, checkout, attempt } = self;
        if let Some(lack) = refused(payments::authorise(app, &self.charge()).await) {
            let was_ours = self.undo().await?;
            return Err(if was_ours { lack } else { attempt.overdue().into() });
        }
        let Some(decided) = store::pay(app, &booking.id, checkout).then_read().await? else {
            // A sweep or a repeat aborted the checkout, as this attempt is past its deadline.
            return Err(attempt.overdue().into());
        };
        match Run::new(app, &decided, attempt)?.go_forward().await? {
            Some(receipt) => Ok(receipt),
            None => paid(app, checkout).await,
        }
    }

    /// Aborts a checkout with a claim that isn't paid. Returns `false` if it is paid or already undone.
    pub(super) async fn undo(self) -> Result<bool> {
        let Self { app, booking, checkout, .. } = self;
        if store::abort(app, &booking.id, checkout).after().await?.is_none() {
            // The state had changed: the checkout was paid, aborted, or already undone.
            let now = bookings(app).get_settled(&booking.id).await?;
            let is_voiding = now.is_some_and(|now| {
                now.state == BookingState::Voiding
                    && now.checkout.is_some_and(|own| own.id == checkout.id)
            });
            if !is_voiding {
                return Ok(false);
            }
        }
        void_charge(app, &checkout.payment_id, checkout.total).await?;
        store::reactivate(app, &booking.id, checkout).held().await?;
        Ok(true)
    }

    /// Applies what a paid checkout with a claim owes, and completes the booking. Returns the receipt if this call inserted
    /// it.
    pub(super) async fn go_forward(self) -> Result<Option<ReceiptDocument>> {
        let Self { app, booking, checkout, .. } = self;
        let (receipts, receipt) = (receipts(app), self.receipt());
        let capture = async {
            // A payment of zero doesn't exist at the provider.
            if checkout.total == 0 {
                return Ok(());
            }
            payments::capture(app, &checkout.payment_id).await
        };
        let (written, captured, sold) =
            tokio::join!(receipts.insert(receipt.clone()), capture, self.sell());
        captured?;
        sold?;
        let written = written.decided()?;
        store::complete(app, &booking.id, checkout).held().await?;
        Ok(written.map(|()| receipt))
    }

    /// The receipt of the checkout.
    fn receipt(self) -> ReceiptDocument {
        let Self { booking, checkout, attempt, .. } = self;
        let (id, now) = (checkout.payment_id.clone(), attempt.now());
        ReceiptDocument {
            id: checkout.id.clone(),
            booking_id: booking.id.clone(),
            owner: booking.owner.clone(),
            state: ReceiptState::Paid,
            currency: booking.currency,
            lines: booking.holds.clone(),
            total: checkout.total,
            payment: (checkout.total > 0).then_some(ReceiptPayment { id, refunded: false }),
            starts_at: booking.holds.iter().map(|hold| hold.starts_at).min().unwrap_or(now),
            ops: Vec::new(),
            paid_at: now,
            changed_at: now,
            cancelling_at: None,
            v: Version,
        }
    }
}
