//! The personal data in the collections of this room.

use crate::{
    domains::comments,
    mongo::personal::{Blank, Field, Find, Personal},
};

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    Personal::of(
        "nodes",
        Find::Walk,
        &[
            Field::blanks("metadata.author.id", &[("name", Blank::Pseudonym)]),
            Field::replaces("kept[].by"),
        ],
    ),
    Personal::copies("nodes", Find::Walk, comments::EMBEDDED),
    Personal::of("nodeRevisions", Find::Walk, &[Field::replaces("version.by")]),
];
