//! What the room holds of a person.

use crate::mongo::personal::{Field, Find, Personal};

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] =
    &[Personal::of("jobs", Find::Walk, &[Field::replaces("by"), Field::replaces("claim.by")])];
