//! The cancellation of a screening: nobody takes its seats any more, bookings give theirs back, and receipts are refunded.
//!
//! | command | guard | if the process dies after it |
//! |---|---|---|
//! | commit on the screening | not cancelled, it hasn't begun; deadline | the sweep carries on |
//! | of each booking with a hold: commit of its release | ACTIVE, the owner as read, the hold is there; deadline | as after a release |
//! | of each receipt: commit of its cancellation | PAID; deadline | as after `cancelReceipt` |
//! | settle on the screening | no seat is held or sold | the screening is cancelled |
//!
//! From the commit on no seat can be held, so holds and sales only become fewer. A hold of a booking that is being checked
//! out stays until that has ended: it is then a hold of an active booking again, or a sale of a receipt. A receipt exists
//! before the first of its seats is sold. So if a screening has neither holds nor sales, nobody has a seat or will get one.

use super::{
    super::{
        documents::{BookingDocument, BookingState, ReceiptDocument, ScreeningDocument},
        store::{self, NotCancelled, bookings, receipts, screenings},
        types::{CancelScreeningInput, CancelScreeningResult, ScreeningBegun},
    },
    receipts::carry_on,
};
use crate::{domains::baskets::Basket as _, graphql::prelude::*, join::join_all, mongo::batched};

/// Number of receipts that are cancelled at once.
const BATCH: usize = 100;

/// Cancels a screening. A repeat returns it. Bookings and receipts follow behind the reply.
pub async fn cancel_screening(
    cx: Cx<'_>,
    input: CancelScreeningInput,
) -> Answer<CancelScreeningResult> {
    let input = &input.checked()?;
    let id = &*input.screening_id;
    let attempt = cx.begin().await?;
    let cancelled = match screenings(&cx).write_and_read(&store::cancel(id), &attempt).await? {
        Verdict::Applied(cancelled) | Verdict::Refused(NotCancelled::Already, cancelled) => {
            cancelled
        }
        Verdict::Refused(NotCancelled::Begun, screening) => {
            return Err(ScreeningBegun::at(screening.starts_at).into());
        }
        Verdict::Missing => return Err(NotFound::of(NodeKind::SCREENING, id).into()),
    };
    if cancelled.cancelling_at.is_some() {
        let (app, id) = (cx.app.clone(), id.to_owned());
        cx.in_background("cancelling a screening", async move {
            give_back(&app, &id).await.map(|_is_done| ())
        });
    }
    Ok(cancelled)
}

/// Takes the seats of a cancelled screening out of active bookings, cancels its receipts, and settles. Returns whether
/// nobody has a seat any more. If not, the sweep asks again.
///
/// # Errors
/// A step failed, or its outcome is unknown. The sweep goes on.
pub(in super::super) async fn give_back(app: &App, id: &str) -> Result<bool> {
    let Some(screening) = screenings(app).get_settled(id).await? else { return Ok(true) };
    // A booking that can't be released now doesn't hold up the refunds.
    let released = release_all(app, &screening).await;
    cancel_all(app, id).await?;
    released?;
    store::settle_cancelled(app, id).held().await
}

/// Releases the seats of a screening from all active bookings.
async fn release_all(app: &App, screening: &ScreeningDocument) -> Result<()> {
    let mut holders: Vec<&str> = screening.holds.iter().map(|hold| &*hold.booking_id).collect();
    holders.sort_unstable();
    holders.dedup();
    let mut all = Ok(());
    for some in holders.chunks(BATCH) {
        let each = some.iter().map(|booking| release(app, booking, &screening.id));
        let released = batched(join_all(each)).await.into_iter().collect::<Result<()>>();
        // One that can't be released now doesn't hold up the others, each time that the sweep comes.
        all = all.and(released);
    }
    all
}

/// Cancels all paid receipts with seats of a screening.
async fn cancel_all(app: &App, screening: &str) -> Result<()> {
    loop {
        let paid = store::list_paid_of(app, screening, BATCH).await?;
        let each = paid.iter().map(|receipt| cancel(app, receipt));
        // One that was decided isn't listed again, whatever becomes of its refund.
        batched(join_all(each)).await.into_iter().collect::<Result<()>>()?;
        if paid.len() < BATCH {
            return Ok(());
        }
    }
}

/// Releases the seats of a screening from a booking, if it is active.
async fn release(app: &App, booking: &str, screening: &str) -> Result<()> {
    let (attempt, found) = app.begin_with::<BookingDocument>(booking).await?;
    let active = found.filter(|booking| booking.state == BookingState::Active);
    let Some(booking) = active else { return Ok(()) };
    for hold in booking.holds.iter().filter(|hold| hold.screening_id == screening) {
        let dropping = store::drop_hold(&booking, hold);
        let dropped = bookings(app).change(dropping).within(&attempt).then_read().await?;
        if let Some(booking) = dropped {
            booking.carry_out_outbox(app, &attempt).await?;
        }
    }
    Ok(())
}

/// Cancels a receipt as a whole, also if one of its screenings has begun.
async fn cancel(app: &App, receipt: &ReceiptDocument) -> Result<()> {
    let attempt = app.begin().await?;
    let cancelling = store::cancelling_for_screening(receipt);
    let decided = receipts(app).change(cancelling).within(&attempt).then_read().await?;
    match decided {
        Some(receipt) => carry_on(app, receipt, &attempt).await.map(drop),
        None if attempt.is_over() => Err(attempt.overdue()),
        // It was cancelled since it was read.
        None => Ok(()),
    }
}
