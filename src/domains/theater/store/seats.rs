//! Writes of the seats of a screening: hold, free and sell. Writes of one moment share a command, and usually a
//! statement, as the reserves of a SKU do.

use super::{super::documents::ScreeningDocument, screenings};
use crate::{graphql::prelude::*, mongo::prelude::*};

/// Why no seats are held.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum NotHeld {
    /// They are held under the tag, or were before.
    Already,
    /// The screening has begun.
    Begun,
    /// The screening is cancelled.
    Cancelled,
    /// One of the seats isn't free.
    Taken,
}

/// The field with the state of a seat. The place is a number of the server's, so it is a sound name.
fn state_of(place: i32) -> String {
    format!("taken.{place}")
}

/// A change of the state of all these seats, and of the number of free ones.
fn setting(seats: &[i32], state: impl Into<Bson>, freed: i64) -> Document {
    let state = state.into();
    let mut set: Document = seats.iter().map(|seat| (state_of(*seat), state.clone())).collect();
    if freed != 0 {
        set.insert("seatsAvailable", doc! { "$add": ["$seatsAvailable", freed] });
    }
    set
}

/// Holds all of these seats for a booking, or none. A tag holds seats once: as long as it does, none of them is free. So the
/// guard doesn't look for the tag among all holds and sales. Only after a refund its seats are free again, and its mark is
/// in `freed`.
pub(in super::super) fn holding(
    screening: &str,
    booking: &str,
    tag: &str,
    seats: &[i32],
) -> Change<NotHeld> {
    let known = ["holds.tag", "sold.tag", "freed.tag"].map(|marks| contains(marks, tag));
    let is_ahead = is_past("startsAt").negated();
    let is_on = is_absent("cancelledAt");
    let are_free = seats.iter().map(|seat| is_absent(state_of(*seat))).collect();
    let are_free = Condition::All(are_free);
    let never_freed = contains("freed.tag", tag).negated();
    let guard = [never_freed, is_ahead.clone(), is_on.clone(), are_free.clone()];
    let rules = [
        (Condition::Any(known.to_vec()).negated(), NotHeld::Already),
        (is_ahead, NotHeld::Begun),
        (is_on, NotHeld::Cancelled),
        (are_free, NotHeld::Taken),
    ];
    let mut set = setting(seats, ScreeningDocument::HELD, -count(seats.len()));
    let hold = whole(doc! {
        "tag": literal(tag), "bookingId": literal(booking), "seats": seats, "at": "$$NOW",
    });
    set.insert("holds", append("$holds", vec![hold]));
    Change::ruled_and_guarded(screening, guard, rules, set)
}

/// Frees the seats of a hold, or those that were sold from it. With `is_refund` a mark stays, so that no late sale of
/// the hold can arrive. If there is neither hold nor sale, nothing changes: the seats may be someone else's.
pub(in super::super) fn freeing(
    screening: &str,
    tag: &str,
    seats: &[i32],
    is_refund: bool,
) -> Change<()> {
    let is_there = ["holds.tag", "sold.tag"].map(|marks| contains(marks, tag));
    let mut set = setting(seats, "$$REMOVE", count(seats.len()));
    set.insert("holds", without("$holds", "tag", tag));
    set.insert("sold", without("$sold", "tag", tag));
    if is_refund {
        let mark = whole(doc! { "tag": literal(tag), "at": "$$NOW" });
        set.insert("freed", append("$freed", vec![mark]));
    }
    Change::ruled(screening, [(Condition::Any(is_there.to_vec()), ())], set)
}

/// Sells the seats of a hold. Without the hold, nothing changes: they were sold before, or refunded since.
pub(in super::super) fn selling(
    screening: &str,
    tag: &str,
    seats: &[i32],
    receipt: &str,
) -> Change<()> {
    let mut set = setting(seats, ScreeningDocument::SOLD, 0);
    let sale = whole(doc! {
        "tag": literal(tag), "receiptId": literal(receipt), "seats": seats, "at": "$$NOW",
    });
    set.insert("holds", without("$holds", "tag", tag));
    set.insert("sold", append("$sold", vec![sale]));
    Change::ruled(screening, [(contains("holds.tag", tag), ())], set)
}

/// Notes that the bookings of these holds have them, and removes the marks of refunds from before `before`.
pub(in super::super) fn keep(
    app: &App,
    screening: &str,
    tags: Vec<String>,
    before: DateTime,
) -> Guarded<ScreeningDocument> {
    let is_kept = doc! { "$in": ["$$this.tag", literal(tags)] };
    let set = doc! {
        "holds": map("$holds", choose(is_kept, changed(doc! { "kept": true }), "$$this")),
        "freed": filter("$freed", doc! { "$gte": ["$$this.at", before] }),
    };
    screenings(app).set(doc! { "_id": screening }, set)
}
