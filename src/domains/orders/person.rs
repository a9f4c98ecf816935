//! What the room holds of a person.

use crate::mongo::personal::{Blank, Field, Find, Personal};

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[Personal::of(
    "orders",
    Find::Index("owner", "owner_placed"),
    &[Field::blanks(
        "owner",
        &[
            ("shipping", Blank::EmptyFields(&["name", "street", "city", "country"])),
            ("payer.token", Blank::Nothing),
            ("meta", Blank::Nothing),
        ],
    )],
)];
