//! Writes of bookings.

use std::time::Duration;

use super::{
    super::{
        MAX_HOLDS, MAX_SEATS,
        documents::{BookedSeats, BookingDocument, BookingState, Checkout},
    },
    bookings,
};
use crate::{graphql::prelude::*, mongo::prelude::*};

/// Maximum number of bookings of each kind per pass of the sweep.
pub(in super::super) const CLOSED_PER_PASS: i64 = 500;

/// Bookings in `state` that weren't changed since `before`, least recently changed first.
pub(in super::super) async fn list_untouched(
    app: &App,
    state: BookingState,
    before: DateTime,
) -> Result<Vec<BookingDocument>> {
    let filter = doc! { "state": state, "modifiedAt": { "$lt": before } };
    let sort = doc! { "modifiedAt": 1, "_id": 1 };
    bookings(app).list(List { filter, sort, limit: CLOSED_PER_PASS, ..List::default() }).await
}

/// Ids of the bookings with an unfinished checkout whose deadline is earlier than `before`.
pub(in super::super) async fn list_overdue(app: &App, before: DateTime) -> Result<Vec<String>> {
    let mut overdue = Vec::new();
    for state in [BookingState::Pending, BookingState::Voiding, BookingState::Paid] {
        let filter = doc! { "state": state, "checkout.deadline": { "$lt": before } };
        let order = [("modifiedAt", 1), ("_id", 1)];
        overdue.extend(bookings(app).ids(filter, &order, Some("state_modified")).await?);
    }
    Ok(overdue)
}

/// Fields of a change of a booking. `modifiedAt` changes as well: the time at which an idle booking expires depends on it.
fn now(mut set: Document) -> Document {
    set.insert("modifiedAt", "$$NOW");
    set
}

fn modified(app: &App, guard: Document, set: Document) -> Guarded<BookingDocument> {
    bookings(app).set(guard, now(set))
}

/// Guard: the booking is active and its owner is as it was read.
fn active_as_read(booking: &BookingDocument) -> Document {
    doc! { "_id": &booking.id, "state": BookingState::Active, "owner": booking.owner.as_deref() }
}

/// Adds seats that are held in their screening.
pub(in super::super) fn add_hold(booking: &BookingDocument, hold: &BookedSeats) -> Change {
    let seats = doc! { "$sum": map("$holds", doc! { "$size": "$$this.seats" }) };
    let last = format!("holds.{}", MAX_HOLDS - 1);
    let has_room = doc! {
        last: { "$exists": false },
        "$expr": { "$lte": [seats, count(MAX_SEATS - hold.seats.len().min(MAX_SEATS))] },
    };
    let set = now(doc! { "holds": append("$holds", vec![literal(stored(hold))]) });
    Change::new(&booking.id, both(active_as_read(booking), has_room), set)
}

/// Drops a hold. Its seats go to the outbox.
pub(in super::super) fn drop_hold(booking: &BookingDocument, hold: &BookedSeats) -> Change {
    let release = whole(doc! {
        "tag": literal(&hold.tag), "screeningId": literal(&hold.screening_id),
        "seats": hold.places(), "at": "$$NOW",
    });
    let set = now(doc! {
        "holds": without("$holds", "tag", &hold.tag),
        "outbox": append("$outbox", vec![release]),
    });
    let has_it = doc! { "holds.tag": &hold.tag };
    Change::new(&booking.id, both(active_as_read(booking), has_it), set)
}

/// Settles an outbox entry that was applied.
pub(in super::super) fn settle(app: &App, id: &str, tag: &str) -> Guarded<BookingDocument> {
    let rest = without("$outbox", "tag", tag);
    modified(app, doc! { "_id": id, "outbox.tag": tag }, doc! { "outbox": rest })
}

/// ACTIVE → CANCELLING.
pub(in super::super) fn cancel(app: &App, booking: &BookingDocument) -> Guarded<BookingDocument> {
    modified(app, active_as_read(booking), doc! { "state": BookingState::Cancelling })
}

/// ACTIVE → EXPIRING, if the booking is still idle.
pub(in super::super) fn expire(app: &App, id: &str) -> Guarded<BookingDocument> {
    let idle = Duration::from_secs(app.config().booking_idle_seconds);
    let active = doc! { "_id": id, "state": BookingState::Active };
    let guard = both(active, older_than("modifiedAt", idle));
    modified(app, guard, doc! { "state": BookingState::Expiring })
}

/// The end of a closing, after everything was released.
pub(in super::super) fn end(
    app: &App,
    booking: &BookingDocument,
    state: BookingState,
) -> Guarded<BookingDocument> {
    let guard = doc! { "_id": &booking.id, "state": booking.state, "outbox": [] };
    let kept = Duration::from_secs(app.config().booking_keep_seconds);
    let expires = doc! { "$add": ["$$NOW", millis(kept)] };
    modified(app, guard, doc! { "state": state, "expiresAt": expires })
}

/// Guard: the holds are as they were read, none is still to be released, and no screening has begun.
fn holds_as_read(booking: &BookingDocument) -> Document {
    let tags: Vec<&str> = booking.holds.iter().map(|hold| hold.tag.as_str()).collect();
    let mut all = vec![doc! { "$eq": ["$holds.tag", literal(tags)] }];
    all.extend(booking.holds.iter().map(|hold| doc! { "$lt": ["$$NOW", hold.starts_at] }));
    doc! { "outbox": { "$size": 0 }, "$expr": { "$and": all } }
}

/// ACTIVE → PENDING: the holds are frozen for a checkout with a claim.
pub(in super::super) fn freeze(
    app: &App,
    booking: &BookingDocument,
    checkout: &Checkout,
) -> Guarded<BookingDocument> {
    let unbegun = doc! { "checkouts": booking.checkouts };
    let guard = both(active_as_read(booking), both(holds_as_read(booking), unbegun));
    let set = doc! {
        "state": BookingState::Pending,
        "checkout": literal(stored(checkout)),
        "checkouts": { "$add": ["$checkouts", 1] },
    };
    modified(app, guard, set)
}

/// Guard: the booking is in this state of this checkout. A late write of an earlier checkout changes nothing.
fn of_checkout(id: &str, checkout: &Checkout, state: BookingState) -> Document {
    doc! { "_id": id, "state": state, "checkout.id": &checkout.id }
}

/// The fields of a booking whose checkout has decided: from here it only goes forward. It belongs to the caller who
/// checked it out.
fn paid(checkout: &Checkout) -> Document {
    let mut set = doc! { "state": BookingState::Paid };
    if let Some(owner) = &checkout.owner {
        set.insert("owner", literal(owner));
    }
    set
}

/// PENDING → PAID: the commit of a checkout with a claim.
pub(in super::super) fn pay(app: &App, id: &str, checkout: &Checkout) -> Guarded<BookingDocument> {
    modified(app, of_checkout(id, checkout, BookingState::Pending), paid(checkout))
}

/// ACTIVE → PAID at once: the commit of a checkout without a claim, for which the money is held.
pub(in super::super) fn decide(booking: &BookingDocument, checkout: &Checkout) -> Change {
    let mut set = now(paid(checkout));
    set.insert("checkout", literal(stored(checkout)));
    let guard = both(active_as_read(booking), holds_as_read(booking));
    Change::new(&booking.id, guard, set)
}

/// PAID → COMPLETE, after everything that the checkout owed was applied.
pub(in super::super) fn complete(
    app: &App,
    id: &str,
    checkout: &Checkout,
) -> Guarded<BookingDocument> {
    let guard = of_checkout(id, checkout, BookingState::Paid);
    modified(app, guard, doc! { "state": BookingState::Complete })
}

/// PENDING → VOIDING: the abort. The checkout can't be paid any more.
pub(in super::super) fn abort(
    app: &App,
    id: &str,
    checkout: &Checkout,
) -> Guarded<BookingDocument> {
    let guard = of_checkout(id, checkout, BookingState::Pending);
    modified(app, guard, doc! { "state": BookingState::Voiding })
}

/// VOIDING → ACTIVE, after the payment was voided.
pub(in super::super) fn reactivate(
    app: &App,
    id: &str,
    checkout: &Checkout,
) -> Guarded<BookingDocument> {
    let set = doc! { "$set": now(doc! { "state": BookingState::Active }) };
    let update = vec![set, doc! { "$unset": "checkout" }];
    bookings(app).guarded(of_checkout(id, checkout, BookingState::Voiding), update)
}
