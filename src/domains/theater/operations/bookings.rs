//! The beginning of bookings, and their end without a checkout: a booking is cancelled by its visitor, or expires.

use futures_util::future::join_all;

use super::{
    super::{
        documents::{BookingDocument, BookingState, Release},
        store::{self, bookings, screenings},
        types::{
            BookingNotActive, CancelBookingInput, CancelBookingResult, OpenBookingInput,
            OpenBookingResult,
        },
    },
    free,
};
use crate::{
    graphql::prelude::*,
    mongo::{Version, batched},
};

/// What a mutation of a booking returns.
pub(super) type Changed<U> = Result<BookingDocument, Stop<U>>;

/// Opens an empty booking. It belongs to the caller if there is a token; otherwise its id is the capability to use it.
/// With an idempotency key the booking's `_id` is derived from it, so a repeat finds the same booking.
pub async fn open_booking(cx: Cx<'_>, input: OpenBookingInput) -> Changed<OpenBookingResult> {
    let input = input.checked()?;
    let owner = cx.requester.subject.clone();
    if owner.is_none() && input.idempotency_key.is_some() {
        // Idempotency keys are scoped by subject. All anonymous callers would share one scope, and so the booking.
        let reason = "takes a signed-in caller; without a token leave it out";
        return Err(InvalidInput::new("idempotencyKey", reason).into());
    }
    let scope = [owner.as_deref().unwrap_or_default(), "openBooking"];
    let op = cx.op(&scope, input.idempotency_key.as_ref(), &());
    let attempt = cx.begin().await?;
    let booking = BookingDocument {
        id: op.id,
        owner,
        currency: input.currency,
        state: BookingState::Active,
        holds: Vec::new(),
        ops: Vec::new(),
        outbox: Vec::new(),
        checkout: None,
        checkouts: 0,
        opened_at: attempt.now(),
        modified_at: attempt.now(),
        expires_at: None,
        v: Version,
    };
    if bookings(&cx).insert(booking.clone()).await.decided()?.is_some() {
        return Ok(booking);
    }
    // The `_id` is taken: this op was applied before.
    match bookings(&cx).get_settled(&booking.id).await? {
        Some(opened) if opened.currency != input.currency => Err(Conflict::other_input().into()),
        Some(opened) if !opened.state.may_become_active() => {
            let state = opened.state;
            let message = format!(
                "the booking that this idempotency key opened is {state}; open another one with a new key"
            );
            Err(BookingNotActive::because(message, state).into())
        }
        Some(opened) => Ok(opened),
        None => Err(Error::unavailable("the booking was removed at the same time").into()),
    }
}

/// Returns the booking if the caller may read it.
pub async fn booking(cx: Cx<'_>, id: &str) -> Result<Option<BookingDocument>> {
    let Ok(id) = input::id(NodeKind::BOOKING, id) else { return Ok(None) };
    Ok(bookings(&cx).get(&id).await?.filter(|booking| may_use(booking, cx.requester)))
}

/// Whether the caller may use the booking. One without an owner may be used by anyone who knows its id.
fn may_use(booking: &BookingDocument, requester: &Requester) -> bool {
    booking.owner.as_deref().is_none_or(|owner| requester.is(owner)) || requester.has(Role::Service)
}

/// Begins an attempt with the booking as its first read. `NotFound` if this caller may not use it.
pub(super) async fn begin<U: From<NotFound>>(
    cx: Cx<'_>,
    id: &str,
) -> Result<(Attempt, BookingDocument), Stop<U>> {
    let (attempt, booking) = cx.begin_with::<BookingDocument>(id).await?;
    let booking = booking.filter(|booking| may_use(booking, cx.requester));
    Ok((attempt, booking.ok_or_else(|| NotFound::of(NodeKind::BOOKING, id))?))
}

/// Cancels the booking and frees its seats. A repeat is safe without an idempotency key.
pub async fn cancel_booking(cx: Cx<'_>, input: CancelBookingInput) -> Changed<CancelBookingResult> {
    let input = input.checked()?;
    let read = || begin(cx, &input.booking_id);
    decide(read, |attempt: Attempt, booking: BookingDocument| async move {
        let booking = match booking.state {
            BookingState::Active => store::cancel(&cx, &booking).within(&attempt).after().await?,
            BookingState::Cancelling => Some(booking),
            BookingState::Cancelled => return Ok(Step::Done(booking)),
            other => return Err(BookingNotActive::new(other).into()),
        };
        let Some(booking) = booking else { return Ok(Step::Again) };
        Ok(Step::Done(close(&cx, &booking, &attempt).await?))
    })
    .await
}

/// Expires the booking if it is still idle, and frees its seats. Returns whether it was idle.
pub(in super::super) async fn expire(app: &App, id: &str) -> Result<bool> {
    // The attempt begins before the guarded write, whose reply has the outbox.
    let attempt = app.begin().await?;
    let expired = store::expire(app, id).within(&attempt).after().await?;
    if let Some(booking) = &expired {
        close(app, booking, &attempt).await?;
    }
    Ok(expired.is_some())
}

/// Finishes the closing of a booking that is CANCELLING or EXPIRING and was read within `attempt`. Nothing is committed
/// on it any more, so its outbox and its holds are complete. What is held for it and isn't among them was never
/// committed; the sweep frees it.
pub(in super::super) async fn close(
    app: &App,
    booking: &BookingDocument,
    attempt: &Attempt,
) -> Result<BookingDocument> {
    let end = match booking.state {
        BookingState::Cancelling => BookingState::Cancelled,
        BookingState::Expiring => BookingState::Expired,
        _ => return Err(Error::internal("a booking that isn't being closed")),
    };
    let holds = booking
        .holds
        .iter()
        .map(|hold| async move { free(app, &hold.screening_id, &hold.tag, &hold.places()).await });
    let (settled, freed) =
        tokio::join!(carry_out_outbox(app, booking, attempt), batched(join_all(holds)));
    settled?;
    freed.into_iter().collect::<Result<()>>()?;
    if let Some(closed) = store::end(app, booking, end).after().await? {
        return Ok(closed);
    }
    // Another attempt closed it first.
    let closed = bookings(app).get_settled(&booking.id).await?.filter(|now| now.state == end);
    closed.ok_or_else(|| {
        Error::unavailable("the booking was closed by another call at the same time")
    })
}

/// Frees and settles every outbox entry of the booking, which must have been read within `attempt`.
pub(in super::super) async fn carry_out_outbox(
    app: &App,
    booking: &BookingDocument,
    attempt: &Attempt,
) -> Result<()> {
    for Release { tag, screening_id, seats, .. } in &booking.outbox {
        // A refusal means that the seats were freed before.
        let freeing = store::freeing(screening_id, tag, seats, false);
        screenings(app).write(&freeing, attempt).await?;
        // A refusal means that another attempt settled it.
        store::settle(app, &booking.id, tag).held().await?;
    }
    Ok(())
}
