//! The personal data in the collections of this room.

use crate::mongo::personal::Personal;

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    Personal::nothing("statsDaily", "numbers of hits by page"),
    Personal::nothing("statsMonthly", "numbers of hits by page"),
];
