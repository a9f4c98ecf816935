//! The personal data in the collections of this room.

use crate::mongo::personal::{Blank, Field, Find, Personal};

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    Personal::of(
        "events_*",
        Find::Walk,
        &[Field::blanks(
            "user",
            &[
                ("host", Blank::Pseudonym),
                ("query", Blank::Nothing),
                ("referrer", Blank::Nothing),
                ("userAgent", Blank::Nothing),
            ],
        )],
    ),
    Personal::nothing("eventCalls", "ids of calls"),
    Personal::nothing("eventImports", "positions in log files"),
];
