//! The personal data in the collections of this room.

use crate::mongo::personal::Personal;

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    Personal::nothing("inventory", "stock; its holders are carts and orders"),
    Personal::nothing("stockReceipts", "goods that came in"),
];
