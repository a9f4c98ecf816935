//! Bookings as [baskets]: they hold seats, and give them back when they are closed.

use super::{
    super::{
        MAX_CHANGES,
        documents::{BookingDocument, BookingState, Checkout, Release},
        store::{self, bookings, screenings},
        types::{
            BookingNotActive, CancelBookingInput, CancelBookingResult, OpenBookingInput,
            OpenBookingResult,
        },
    },
    free,
};
use crate::{
    config::Config,
    domains::baskets::{self, basket, may_use},
    graphql::prelude::*,
    join::join_all,
    mongo::{Version, batched, prelude::Document},
};

basket! {
    "booking" BOOKING = BookingDocument(BookingState, Checkout), BookingNotActive, MAX_CHANGES;

    const CHECKOUTS: &'static str = "checkouts";

    fn total(&self) -> i64 {
        BookingDocument::total(self)
    }

    fn as_read(&self) -> Document {
        store::as_read(self)
    }

    fn idle_seconds(config: &Config) -> u64 {
        config.booking_idle_seconds
    }

    fn ended(config: &Config) -> Document {
        store::ended(config)
    }

    async fn carry_out_outbox(&self, app: &App, attempt: &Attempt) -> Result<()> {
        for Release { tag, screening_id, seats, .. } in &self.outbox {
            // A refusal means that the seats were freed before.
            let freeing = store::freeing(screening_id, tag, seats, false);
            screenings(app).write(&freeing, attempt).await?;
            // A refusal means that another attempt settled it.
            baskets::settle::<Self>(app, &self.id, tag).held().await?;
        }
        Ok(())
    }

    /// Its holds are complete as well. What is held for it and isn't among them was never committed; the sweep frees it.
    async fn give_back(&self, app: &App, attempt: &Attempt) -> Result<()> {
        let holds = self.holds.iter().map(|hold| async move {
            free(app, &hold.screening_id, &hold.tag, &hold.places()).await
        });
        let (settled, freed) =
            tokio::join!(self.carry_out_outbox(app, attempt), batched(join_all(holds)));
        settled?;
        freed.into_iter().collect()
    }
}

/// Opens an empty booking.
pub async fn open_booking(cx: Cx<'_>, input: OpenBookingInput) -> Answer<OpenBookingResult> {
    let input = input.checked()?;
    let make = |id, owner, now| BookingDocument {
        id,
        owner,
        currency: input.currency,
        state: BookingState::Active,
        holds: Vec::new(),
        ops: Vec::new(),
        outbox: Vec::new(),
        checkout: None,
        checkouts: 0,
        opened_at: now,
        modified_at: now,
        expires_at: None,
        v: Version,
    };
    let is_same = |opened: &BookingDocument| opened.currency == input.currency;
    baskets::open(cx, "openBooking", input.idempotency_key.as_ref(), make, is_same).await
}

/// Cancels the booking and frees its seats.
pub async fn cancel_booking(cx: Cx<'_>, input: CancelBookingInput) -> Answer<CancelBookingResult> {
    baskets::cancel(cx, &input.checked()?.booking_id).await
}

/// Returns the booking if the caller may read it.
pub async fn booking(cx: Cx<'_>, id: &str) -> Result<Option<BookingDocument>> {
    let Ok(id) = input::id(NodeKind::BOOKING, id) else { return Ok(None) };
    Ok(bookings(&cx).get(&id).await?.filter(|booking| may_use(booking, cx.requester)))
}

/// The most recently changed active booking of the caller.
pub async fn my_booking(cx: Cx<'_>) -> Result<Option<BookingDocument>> {
    baskets::find_active_of(&cx, cx.requester.subject()?).await
}
