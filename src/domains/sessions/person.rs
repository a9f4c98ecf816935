//! The personal data in the collections of this room.

use super::operations::LEASE;
use crate::mongo::personal::{Field, Find, Personal};

/// The lengths of a user's sessions.
const STATS: &[Field] = &[Field::removes("_id.user")];

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    Personal::of("sessions", Find::Walk, &[Field::removes("slot.user")]),
    // Once the sessions are gone, and no roll-up is left that has read them, none computes these again.
    Personal::of("sessionStatsHourly", Find::Walk, STATS).computed_under(LEASE),
    Personal::of("sessionStatsDaily", Find::Walk, STATS),
    Personal::of("sessionStatsWeekly", Find::Walk, STATS),
    Personal::of("sessionStatsMonthly", Find::Walk, STATS),
    Personal::of("sessionStatsYearly", Find::Walk, STATS),
    Personal::nothing("sessionRollups", "times up to which sessions are added up"),
];
