//! The personal data in the collections of this room.

use crate::mongo::personal::{Blank, Field, Find, Personal};

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    Personal::of(
        "orders",
        Find::Index("owner", "owner_placed"),
        &[
            Field::blanks(
                "owner",
                &[
                    ("shipping", Blank::EmptyFields(&["name", "street", "city", "country"])),
                    ("payer.token", Blank::Nothing),
                    ("shipments[].tracking", Blank::Nothing),
                    ("returns[].reason", Blank::Nothing),
                    ("returns[].answer", Blank::Nothing),
                    ("notes", Blank::Nothing),
                    ("meta", Blank::Nothing),
                ],
            ),
            Field::replaces("discount.hold.customer"),
            Field::replaces("outbox[].give.voucher.customer"),
        ],
    )
    // Customers don't see which merchant has written a note.
    .without(&["notes[].author"]),
    Personal::of("orders", Find::Walk, &[Field::replaces("notes[].author")]),
    Personal::nothing("orderNumbers", "numbers of orders"),
    Personal::nothing("boughtTogether", "numbers of orders of two products"),
];
