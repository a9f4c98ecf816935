//! The personal data in the collections of this room.

use crate::{
    domains::comments,
    mongo::personal::{Find, Personal},
};

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    // Comments that are embedded in what they are on.
    Personal::copies("products", Find::Walk, comments::EMBEDDED),
    Personal::nothing("productSlugs", "slugs of products"),
];
