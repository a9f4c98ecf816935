//! The personal data in the collections of this room. An erasure also cancels the person's bookings.

use crate::mongo::personal::{Blank, Field, Find, Personal};

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    Personal::nothing("theaters", "halls and their seats"),
    Personal::nothing("screenings", "seats; their holders are bookings and receipts"),
    Personal::of(
        "bookings",
        Find::Walk,
        &[
            Field::replaces("owner"),
            Field::blanks("checkout.owner", &[("payment.token", Blank::Nothing)]),
        ],
    )
    // Its flow writes the owner to the receipt.
    .unless(&["state"], |booking, _| {
        !matches!(booking.get_str("state"), Ok("COMPLETE" | "EXPIRED" | "CANCELLED"))
    }),
    Personal::of("receipts", Find::Index("owner", "owner_paid"), &[Field::replaces("owner")]),
];
