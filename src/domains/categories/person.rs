//! The personal data in the collections of this room.

use crate::mongo::personal::Personal;

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    Personal::nothing("categories", "names of categories"),
    Personal::nothing("categoryFacets", "numbers of products"),
];
