//! The checkout of a booking. It has the two flows of the checkout of a cart (see the room of orders), with less to reserve:
//! the seats are held already.
//!
//! Without a claim, for payments from docgate's accounts and for a total of zero:
//!
//! 1. Hold the payer's money under the tag.
//! 2. One update of the ACTIVE booking decides: PAID, if its holds are as they were read and no screening has begun.
//! 3. Insert the receipt and the payment, and answer.
//! 4. Behind the answer: sell the seats, credit the merchant, and complete the booking.
//!
//! A refusal before the decision aborts the tag, then releases the money. The attempt that inserts the payment (or the
//! receipt, if there is no payment) carries out step 4.
//!
//! With a claim, for an outside provider: ACTIVE → PENDING freezes the holds, the provider authorises, PENDING → PAID
//! decides; then receipt, capture and sale side by side. An abort goes PENDING → VOIDING → ACTIVE.
//!
//! A sale is guarded by its hold, so it is made once. Nothing frees a hold of a booking that is PENDING or PAID, except for
//! the cancellation of its receipt, after which there is nothing to sell.

use super::{
    super::{
        documents::{BookingDocument, BookingState, Checkout, ReceiptDocument},
        store::{self, receipts},
        types::{
            BookingEmpty, BookingNotActive, CheckoutBookingInput, CheckoutBookingResult,
            ScreeningBegun,
        },
    },
    carry_out_outbox,
    run::Run,
};
use crate::{
    domains::{
        paying::Payment,
        payments::{
            for_seats,
            operations::{self as payments, needs_no_provider},
        },
        transfers::AccountDocument,
    },
    graphql::prelude::*,
};

/// What a checkout returns.
pub(super) type CheckedOut = Result<ReceiptDocument, Stop<CheckoutBookingResult>>;

/// Checks a booking out, and returns its receipt.
pub async fn checkout_booking(cx: Cx<'_>, input: CheckoutBookingInput) -> CheckedOut {
    let input = &input.checked()?;
    let scope = [&*input.booking_id, "checkoutBooking"];
    let op = &cx.op(&scope, input.idempotency_key.as_ref(), &input.payment);
    let account = &Payment::from(&input.payment).account;
    let read = || async move {
        let payer = payments::payer(&cx, account.as_deref());
        let (begun, payer) = tokio::join!(begin(cx, &input.booking_id), payer);
        let (attempt, booking) = begun?;
        Ok::<_, Stop<CheckoutBookingResult>>((attempt, (booking, payer?)))
    };
    decide(
        read,
        |attempt: Attempt, (booking, payer): (BookingDocument, Option<AccountDocument>)| async move {
            let own = booking.checkout.as_ref().filter(|checkout| checkout.op == op.id);
            match (booking.state, own) {
                (BookingState::Active, _) => {
                    let call = Call { cx, input, op, attempt: &attempt };
                    call.check_out(&booking, payer.as_ref()).await
                }
                (state, None) => Err(BookingNotActive::new(state).into()),
                (_, Some(checkout)) if checkout.input != op.input => Err(OtherInput.into()),
                (BookingState::Complete, Some(checkout)) => {
                    Ok(Step::Done(paid(&cx, checkout).await?))
                }
                (BookingState::Paid, Some(checkout)) if checkout.tag.is_some() => {
                    Ok(Step::Done(Run::of(&cx, &booking, checkout, &attempt).place().await?))
                }
                (_, Some(checkout)) => {
                    if !attempt.is_overdue(checkout.deadline) {
                        return Ok(Step::Wait);
                    }
                    // Its attempt was interrupted, and none of its writes can still be applied.
                    recover(&cx, &booking, &attempt).await?;
                    Ok(Step::Again)
                }
            }
        },
    )
    .await
}

/// Begins an attempt. Only the owner checks a booking out, and anyone who knows its id if there is none.
async fn begin(
    cx: Cx<'_>,
    id: &str,
) -> Result<(Attempt, BookingDocument), Stop<CheckoutBookingResult>> {
    let (attempt, booking) = cx.begin_with::<BookingDocument>(id).await?;
    let is_theirs = |booking: &BookingDocument| {
        booking.owner.as_deref().is_none_or(|owner| cx.requester.is(owner))
    };
    let booking = booking.filter(is_theirs).ok_or_else(|| NotFound::of(NodeKind::BOOKING, id))?;
    Ok((attempt, booking))
}

/// The receipt of a completed checkout.
pub(super) async fn paid(app: &App, checkout: &Checkout) -> CheckedOut {
    let receipt = receipts(app).get_settled(&checkout.id).await?;
    Ok(receipt.ok_or_else(|| NotFound::of(NodeKind::RECEIPT, &checkout.id))?)
}

/// A try of a checkout.
#[derive(Clone, Copy)]
struct Call<'a> {
    cx: Cx<'a>,
    input: &'a CheckoutBookingInput,
    op: &'a Op,
    attempt: &'a Attempt,
}

impl Call<'_> {
    /// Checks an ACTIVE booking out, as it was read.
    async fn check_out(
        self,
        booking: &BookingDocument,
        payer: Option<&AccountDocument>,
    ) -> Result<Step<ReceiptDocument>, Stop<CheckoutBookingResult>> {
        let Self { cx, op, attempt, .. } = self;
        if booking.holds.is_empty() {
            return Err(BookingEmpty::because("the booking holds no seats").into());
        }
        let now = attempt.clock();
        if let Some(begun) = booking.holds.iter().find(|hold| hold.starts_at <= now) {
            return Err(ScreeningBegun::at(begun.starts_at).into());
        }
        let at_once = needs_no_provider(&cx, booking.total());
        let checkout = self.checkout(booking, at_once);
        let run = Run::of(&cx, booking, &checkout, attempt);
        if at_once {
            payments::check_payer(cx, &run.charge(), payer)?;
        }
        carry_out_outbox(&cx, booking, attempt).await?;
        if at_once {
            return run.check_out(op).await;
        }
        let frozen = store::freeze(&cx, booking, &checkout).within(attempt).then_read().await?;
        let is_ours = |booking: &BookingDocument| {
            booking.state == BookingState::Pending
                && booking.checkout.as_ref().is_some_and(|now| now.id == checkout.id)
        };
        let Some(frozen) = frozen.filter(is_ours) else { return Ok(Step::Again) };
        Ok(Step::Done(Run::new(&cx, &frozen, attempt)?.carry_through().await?))
    }

    /// The checkout that this try begins, with or without a claim. The holds as they were read are part of the tag: others
    /// need another amount.
    fn checkout(self, booking: &BookingDocument, is_unclaimed: bool) -> Checkout {
        let Self { cx, input, op, attempt } = self;
        let holds: Vec<&str> = booking.holds.iter().map(|hold| hold.tag.as_str()).collect();
        let tag = || format!("{}/{}", op.tag(&booking.ops), cx.ids().derived(&holds));
        let tag = is_unclaimed.then(tag);
        let number = booking.checkouts.to_string();
        let name = tag.as_ref().map_or_else(|| [&*op.id, &number], |tag| [tag, ""]);
        let derived = |what| cx.ids().derived(&[what, &booking.id, name[0], name[1]]);
        Checkout {
            id: derived("receipt"),
            payment_id: for_seats(&derived("payment of seats")),
            owner: cx.requester.subject.clone(),
            op: op.id.clone(),
            input: op.input.clone(),
            payment: Payment::from(&input.payment),
            total: booking.total(),
            deadline: attempt.deadline(),
            tag,
        }
    }
}

/// Finishes an interrupted checkout: aborts it if it isn't paid, else applies what it owes.
///
/// # Errors
/// The outcome is unknown. The sweep or a repeat tries again.
pub(in super::super) async fn recover(
    app: &App,
    booking: &BookingDocument,
    attempt: &Attempt,
) -> Result<()> {
    let run = Run::new(app, booking, attempt)?;
    match booking.state {
        BookingState::Pending | BookingState::Voiding => run.undo().await.map(drop),
        BookingState::Paid if run.checkout.tag.is_some() => {
            let (_receipt, recorded) = run.write().await?;
            run.finish(recorded).await
        }
        BookingState::Paid => run.go_forward().await.map(drop),
        _ => Ok(()),
    }
}
