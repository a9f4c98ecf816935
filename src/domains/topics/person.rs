//! The personal data in the collections of this room.

use crate::mongo::personal::Personal;

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    Personal::nothing("topics", "names of topics"),
    Personal::nothing("topic_*", "what services publish; no user is named"),
];
