//! The personal data in the collections of this room.

use crate::mongo::personal::Personal;

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    Personal::nothing("pageViews", "numbers of views by page"),
    Personal::nothing("pageViewPoints", "numbers of views by page"),
    Personal::nothing("viewImports", "names of files"),
];
