//! Exports and erases the personal data of one person in all rooms.
//!
//! A person is known by the subject of their tokens. Each room declares in [`Room::personal`](super::Room::personal)
//! the fields of its collections that hold a subject. [`Room::erase`](super::Room::erase) ends what the person has
//! begun, such as carts, by the room's own operations.
//!
//! ```text
//!   pseudonym ──▶ operations of each room: carts, bookings, comments, posts, … ──▶ fields of each collection ──▶ done
//! ```
//!
//! An erasure first stores its pseudonym ([`ErasureDocument`]), and removes that document at its end. So another run
//! finishes an interrupted one with the same pseudonym, and two runs at once have the same pseudonym too. Each change
//! is one command on one document. Its filter names what was read, so a repeated run finds nothing. A document with an
//! unfinished flow, such as a cart that is being checked out, is left to the next run, because the flow would write the
//! subject again. So would a job that computes documents from others, such as the roll-up of sessions. So the run
//! first erases the documents from which the job computes. Then it waits for the lease of the job, and erases the computed ones.
//!
//! A room that is switched off may have documents of the person. They are left to a run in which it is on, and the erasure
//! isn't finished before: so that run puts the same pseudonym into them as stands in the documents of the other rooms.
//!
//! Afterwards nothing leads from the subject to the pseudonym.

mod documents;
mod erasing;
mod exports;
mod search;
mod store;
pub mod table;

pub use documents::ErasureDocument;
pub use erasing::{Count, Erased, Erasing, erase, is_replacing, look};
pub use exports::{export, leave_out};
pub use search::{ids, unsearched};

use super::{ROOMS, Room};
use crate::mongo::personal::Personal;

/// What docgate's own collections hold.
const OWN: [Personal; 3] = [
    Personal::nothing("leases", "the holders are processes"),
    Personal::nothing("schemaVersions", "versions of collections"),
    Personal::nothing(
        "erasures",
        "an erasure that isn't finished: its key is derived from the subject by the gateways' secret",
    ),
];

/// The declarations of all rooms, each with the name of the room, and docgate's own.
pub fn declarations() -> Vec<(&'static str, Personal)> {
    let own = OWN.iter().map(|personal| ("docgate", *personal));
    let of_room = |room: &&'static Room| room.personal.iter().map(|one| (room.name, *one));
    own.chain(ROOMS.iter().flat_map(of_room)).collect()
}

#[cfg(test)]
mod tests;
