//! Changes of the seats of a booking.
//!
//! A hold reserves first:
//!
//! | command | guard | if the process dies after it |
//! |---|---|---|
//! | hold on the screening | all seats are free, so the tag has none; it has no refund; the screening hasn't begun and isn't cancelled; deadline | a repeat finds the hold; the sweep aborts and frees |
//! | commit on the booking | ACTIVE, the owner as read; neither op nor tag is recorded; deadline | the seats are held |
//!
//! A release commits first:
//!
//! | command | guard | if the process dies after it |
//! |---|---|---|
//! | commit on the booking, with the outbox | ACTIVE, the owner as read, the hold is there; deadline | a repeat or the sweep frees |
//! | free on the screening | the hold is there; deadline | a repeat or the sweep frees without effect, and settles |
//! | settle on the booking | the entry is in the outbox | the seats are free |

use std::{collections::HashSet, sync::Arc};

use super::{
    super::{
        MAX_HOLDS, MAX_SEATS,
        documents::{BookedSeats, BookingDocument, BookingState, Offer, ScreeningDocument},
        store::{self, NotHeld, bookings, screenings},
        types::{
            BookingNotActive, HoldSeatsInput, HoldSeatsResult, ReleaseSeatsInput,
            ReleaseSeatsResult, ScreeningBegun, ScreeningCancelled, SeatsTaken, TakenSeat,
        },
    },
    screenings::wanted,
};
use crate::{
    domains::baskets::{Basket as _, begin},
    flow::Try,
    graphql::{declared::Checked, prelude::*, refusals::CurrencyMismatch},
};

/// Holds seats of a screening for a booking: all of them or none.
pub async fn hold_seats(cx: Cx<'_>, input: HoldSeatsInput) -> Answer<HoldSeatsResult> {
    let input = &input.checked()?;
    let op = &cx.op(&[&input.booking_id, "holdSeats"], input);
    let read = || async move {
        let offer = store::offer(&cx, &input.screening_id);
        let (begun, offer) = tokio::join!(begin(cx, &input.booking_id), offer);
        let (attempt, booking) = begun?;
        Ok::<_, Stop<HoldSeatsResult>>((attempt, (booking, offer?)))
    };
    decide(
        read,
        |attempt: Attempt, (booking, offer): (BookingDocument, Option<Arc<Offer>>)| async move {
            if op.is_committed(&booking.ops)? {
                return Ok(Step::Done(booking));
            }
            if booking.state != BookingState::Active {
                return Err(BookingNotActive::new(booking.state).into());
            }
            demand_room(cx, &booking, &attempt)?;
            let offer =
                offer.ok_or_else(|| NotFound::of(NodeKind::SCREENING, &input.screening_id))?;
            let tag = op.tag(&booking.ops);
            let hold = booked(&booking, &offer, input, &tag)?;
            reserve(cx, &booking, &hold, &attempt).await?;
            let undo = async {
                // The tag is void: nothing is held under it any more after this.
                free(&cx, &hold.screening_id, &tag, &hold.places()).await
            };
            let this_try = Try { op, tag: &tag, attempt: &attempt, bounds: store::bounds(&cx) };
            let change = store::add_hold(&booking, &hold);
            Ok(Step::or_again(bookings(&cx).commit(this_try, change, Some(undo)).await?))
        },
    )
    .await
}

/// The hold that an input describes, if the booking as read has room for it. The commit guards on the same condition.
fn booked(
    booking: &BookingDocument,
    offer: &Offer,
    input: &Checked<HoldSeatsInput>,
    tag: &str,
) -> Result<BookedSeats, Stop<HoldSeatsResult>> {
    if offer.currency != booking.currency {
        let (expected, found) = (("booking", booking.currency), ("screening", offer.currency));
        return Err(CurrencyMismatch::new(expected, found).into());
    }
    let seats = wanted(offer, &input.seats)?;
    if booking.seats() + seats.len() > MAX_SEATS {
        let reason = format!("a booking holds {MAX_SEATS} seats at most");
        return Err(InvalidInput::new("seats", reason).into());
    }
    if booking.holds.len() >= MAX_HOLDS {
        let reason = format!("a booking takes at most {MAX_HOLDS} holds");
        return Err(InvalidInput::new("bookingId", reason).into());
    }
    Ok(BookedSeats {
        tag: tag.to_owned(),
        screening_id: offer.id.clone(),
        theater_id: offer.theater_id.clone(),
        name: offer.name.clone(),
        starts_at: offer.starts_at,
        seats,
    })
}

/// Holds the seats in their screening, under the tag of the hold.
async fn reserve(
    cx: Cx<'_>,
    booking: &BookingDocument,
    hold: &BookedSeats,
    attempt: &Attempt,
) -> Result<(), Stop<HoldSeatsResult>> {
    let holding = || store::holding(&hold.screening_id, &booking.id, &hold.tag, &hold.places());
    match screenings(&cx).write_made(holding, attempt).await? {
        Verdict::Applied(_) | Verdict::Refused(NotHeld::Already, _) => Ok(()),
        Verdict::Refused(NotHeld::Begun, screening) => {
            Err(ScreeningBegun::at(screening.starts_at).into())
        }
        Verdict::Refused(NotHeld::Cancelled, screening) => {
            let at = screening.cancelled_at.unwrap_or_else(|| attempt.now());
            Err(ScreeningCancelled::at(at).into())
        }
        Verdict::Refused(NotHeld::Taken, screening) => {
            Err(taken(&booking.id, hold, &screening).into())
        }
        Verdict::Missing => Err(NotFound::of(NodeKind::SCREENING, &hold.screening_id).into()),
    }
}

/// The seats that aren't free. A client that repeats a call without its idempotency key finds those that it holds.
fn taken(booking: &str, hold: &BookedSeats, screening: &ScreeningDocument) -> SeatsTaken {
    let own: HashSet<i32> = screening
        .holds
        .iter()
        .filter(|held| held.booking_id == booking)
        .flat_map(|held| held.seats.iter().copied())
        .collect();
    let taken = hold.seats.iter().filter(|seat| screening.taken(seat.place).is_some());
    let taken = taken.map(|seat| TakenSeat {
        row: seat.row.clone(),
        number: seat.number,
        held_by_booking: own.contains(&seat.place),
    });
    SeatsTaken::new(taken.collect())
}

/// Releases a hold of a booking.
pub async fn release_seats(cx: Cx<'_>, input: ReleaseSeatsInput) -> Answer<ReleaseSeatsResult> {
    let input = &input.checked()?;
    let op = &cx.op(&[&input.booking_id, "releaseSeats"], input);
    let read = || begin(cx, &input.booking_id);
    decide(read, |attempt: Attempt, booking: BookingDocument| async move {
        if op.is_committed(&booking.ops)? {
            // The earlier call may have been interrupted before it freed the seats.
            booking.carry_out_outbox(&cx, &attempt).await?;
            return Ok(Step::Done(booking));
        }
        if booking.state != BookingState::Active {
            return Err(BookingNotActive::new(booking.state).into());
        }
        demand_room(cx, &booking, &attempt)?;
        let hold = booking.holds.iter().find(|hold| hold.key() == input.hold);
        let hold = hold.ok_or_else(|| NotFound::new("hold", &*input.hold))?;
        let drop = store::drop_hold(&booking, hold).committing(op, &op.id, store::bounds(&cx));
        let after = bookings(&cx).change(drop).within(&attempt).then_read().await?;
        if let Some(after) = &after {
            after.carry_out_outbox(&cx, &attempt).await?;
        }
        Ok(Step::or_again(after))
    })
    .await
}

/// Frees the seats of a hold whose tag is void or whose booking is closed, so that nobody sells it.
///
/// # Errors
/// The outcome is unknown.
pub(in super::super) async fn free(
    app: &App,
    screening: &str,
    tag: &str,
    seats: &[i32],
) -> Result<()> {
    let freeing = store::freeing(screening, tag, seats, false);
    screenings(app).change(freeing).held().await.map(|_was_held| ())
}

fn demand_room(app: Cx<'_>, booking: &BookingDocument, attempt: &Attempt) -> Result<()> {
    store::bounds(&app).demand_room(&booking.ops, attempt, "too many changes of this booking")
}
