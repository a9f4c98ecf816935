//! Writes that add and drop the seats of bookings. The writes that change the state of a booking are those of all
//! [baskets].

use std::time::Duration;

use super::super::{
    MAX_HOLDS, MAX_SEATS,
    documents::{BookedSeats, BookingDocument},
};
use crate::{config::Config, domains::baskets, graphql::prelude::*, mongo::prelude::*};

/// Adds seats that are held in their screening.
pub(in super::super) fn add_hold(booking: &BookingDocument, hold: &BookedSeats) -> Change {
    let seats = doc! { "$sum": map("$holds", doc! { "$size": "$$this.seats" }) };
    let last = format!("holds.{}", MAX_HOLDS - 1);
    let has_room = doc! {
        last: { "$exists": false },
        "$expr": { "$lte": [seats, count(MAX_SEATS - hold.seats.len().min(MAX_SEATS))] },
    };
    let set = baskets::now(doc! { "holds": append("$holds", vec![literal(stored(hold))]) });
    Change::new(&booking.id, both(baskets::active_as_read(booking), has_room), set)
}

/// Drops a hold. Its seats go to the outbox.
pub(in super::super) fn drop_hold(booking: &BookingDocument, hold: &BookedSeats) -> Change {
    let release = whole(doc! {
        "tag": literal(&hold.tag), "screeningId": literal(&hold.screening_id),
        "seats": hold.places(), "at": "$$NOW",
    });
    let set = baskets::now(doc! {
        "holds": without("$holds", "tag", &hold.tag),
        "outbox": append("$outbox", vec![release]),
    });
    let has_it = doc! { "holds.tag": &hold.tag };
    Change::new(&booking.id, both(baskets::active_as_read(booking), has_it), set)
}

/// Guard: the holds are as they were read, none is still to be released, and no screening has begun. A hold never changes, and
/// no other hold has its tag.
pub(in super::super) fn as_read(booking: &BookingDocument) -> Document {
    let tags: Vec<&str> = booking.holds.iter().map(|hold| hold.tag.as_str()).collect();
    let mut all = vec![doc! { "$eq": ["$holds.tag", literal(tags)] }];
    all.extend(booking.holds.iter().map(|hold| doc! { "$lt": ["$$NOW", hold.starts_at] }));
    all.push(doc! { "$eq": ["$outbox", []] });
    doc! { "$expr": { "$and": all } }
}

/// Fields of a booking that was cancelled or has expired: it is removed later.
pub(in super::super) fn ended(config: &Config) -> Document {
    let kept = Duration::from_secs(config.booking_keep_seconds);
    doc! { "expiresAt": { "$add": ["$$NOW", millis(kept)] } }
}
