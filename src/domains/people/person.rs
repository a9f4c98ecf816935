//! The personal data in the collections of this room.

use crate::mongo::personal::Personal;

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[Personal::nothing(
    "people",
    "people whose works are for sale; they have no tokens. `renamePerson`, `setPersonAddress` and `docgate import people` change them",
)];
