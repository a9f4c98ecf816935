//! The checkout of a booking: what a booking's [checkout](crate::domains::checkout) sells and places. Nothing has to be
//! reserved, because the seats are held already. No screening may have begun.
//!
//! A sale is guarded by its hold, so it is made once. Nothing frees a hold of a booking that is PENDING or PAID, except for
//! the cancellation of its receipt, after which there is nothing to sell.

use super::super::{
    documents::{BookingDocument, Checkout, ReceiptDocument, ReceiptPayment, ReceiptState},
    store::{self, screenings},
    types::{BookingEmpty, CheckoutBookingInput, CheckoutBookingResult, ScreeningBegun},
};
use crate::{
    domains::{
        checkout::{self, Call, NewCheckout, Run, Sale},
        paying::Payment,
        payments::{for_seats, of_seats},
    },
    graphql::prelude::*,
    join::join_all,
    mongo::{Version, batched, guarded::Sends},
};

/// Checks a booking out, and returns its receipt.
pub async fn checkout_booking(
    cx: Cx<'_>,
    input: CheckoutBookingInput,
) -> Answer<CheckoutBookingResult> {
    let input = &input.checked()?;
    let op = &cx.op_of(&[&input.booking_id, "checkoutBooking"], input, &input.payment);
    let call = Call { cx, id: &input.booking_id, op, payment: Payment::from(&input.payment) };
    Box::pin(checkout::check_out::<SaleOfSeats>(&call, |new, _booking| Ok(checkout_of(new)))).await
}

/// The stored checkout.
fn checkout_of(new: NewCheckout) -> Checkout {
    let NewCheckout { id, tag, payment_id, owner, op, input, payment, total, deadline } = new;
    Checkout { id, tag, payment_id, owner, op, input, payment, total, deadline }
}

/// The checkout of bookings.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct SaleOfSeats;

impl Sale for SaleOfSeats {
    type Basket = BookingDocument;
    type Placed = ReceiptDocument;
    type Refused = CheckoutBookingResult;

    const PLACED: NodeKind = NodeKind::RECEIPT;
    const IDS: [&'static str; 2] = ["receipt", "payment of seats"];
    const FINISHING: &'static str = "finishing the checkout of a booking";

    fn recorded(name: &str) -> String {
        for_seats(name)
    }

    fn own_name(holder: &str) -> Option<&str> {
        of_seats(holder)
    }

    async fn has_payment(app: &App, booking: &str, payment: &str) -> Result<bool> {
        checkout::has_payment::<BookingDocument>(app, booking, payment).await
    }

    async fn parts(
        _cx: Cx<'_>,
        booking: &BookingDocument,
        attempt: &Attempt,
    ) -> Result<Vec<String>, Stop<CheckoutBookingResult>> {
        if booking.holds.is_empty() {
            return Err(BookingEmpty::because("the booking holds no seats").into());
        }
        let now = attempt.clock();
        if let Some(begun) = booking.holds.iter().find(|hold| hold.starts_at <= now) {
            return Err(ScreeningBegun::at(begun.starts_at).into());
        }
        Ok(booking.holds.iter().map(|hold| hold.tag.clone()).collect())
    }

    /// The receipt.
    fn placed(run: Run<'_, Self>) -> ReceiptDocument {
        let Run { basket: booking, checkout, attempt, .. } = run;
        let (id, now) = (checkout.payment_id.clone(), attempt.now());
        ReceiptDocument {
            id: checkout.id.clone(),
            booking_id: booking.id.clone(),
            owner: run.owner().map(str::to_owned),
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

    /// Sells the seats of all holds.
    async fn sell(run: Run<'_, Self>) -> Result<Sends> {
        let Run { app, basket: booking, checkout, attempt, .. } = run;
        let sales = booking.holds.iter().map(|hold| async move {
            let selling =
                store::selling(&hold.screening_id, &hold.tag, &hold.places(), &checkout.id);
            // A refusal means that they were sold before.
            screenings(app).write(&selling, attempt).await.map(drop)
        });
        let sold = batched(join_all(sales)).await.into_iter().collect::<Result<()>>();
        sold.map(|()| Sends::Once)
    }
}
