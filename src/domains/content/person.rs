//! The personal data in the collections of this room.

use mongodb::bson::Bson;

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
            Field::ends("kept[].by", "its version goes to `nodeRevisions` first"),
        ],
    )
    // Whoever has read the entry writes it to `nodeRevisions`, maybe after the search there. Each edit raises `revision`.
    .unless(&["revision"], |node, subject| {
        node.get_array("kept").is_ok_and(|kept| {
            let mut versions = kept.iter().filter_map(Bson::as_document);
            versions.any(|version| version.get_str("by").is_ok_and(|by| by == subject))
        })
    }),
    Personal::copies("nodes", Find::Walk, comments::EMBEDDED),
    Personal::of("nodeRevisions", Find::Walk, &[Field::replaces("version.by")]),
];
