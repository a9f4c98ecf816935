//! The personal data in the collections of this room.

use crate::mongo::personal::{Field, Find, Personal};

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] =
    &[Personal::of("jobs", Find::Walk, &[Field::replaces("by"), Field::replaces("claim.by")])];
