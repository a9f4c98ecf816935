//! The rooms: one module per system, each with the same files.
//!
//! - `documents`: the stored documents
//! - `store`: every MongoDB call, one function per round trip
//! - `operations`: the rules
//! - `types`: the types of the schema
//! - `resolvers`: translation between schema and operations
//! - `sweep` and `invariants`: in rooms with flows
//!
//! Rooms call each other only through their operations, and only in these directions:
//! `orders → {carts, payments} → {inventory, transfers} → catalog → {categories, comments, people}`, and
//! `content → assets → {comments, identities}`; `hits` is independent.

pub mod assets;
pub mod carts;
pub mod catalog;
pub mod categories;
pub mod comments;
pub mod content;
pub mod hits;
pub mod identities;
pub mod inventory;
pub mod orders;
pub mod payments;
pub mod people;
pub mod transfers;

mod room;

pub use room::{Check, Repair, Room, Swept};

use std::iter;

use crate::{
    app::App, error::Error, flow::lease::LeaseDocument, invariants::Report,
    mongo::indexes::Declared,
};

/// Every room. Sweeps run in this order: deciders before receivers.
pub const ROOMS: &[&Room] = &[
    &orders::ROOM,
    &carts::ROOM,
    &transfers::ROOM,
    &payments::ROOM,
    &inventory::ROOM,
    // Products wait for the end of an interrupted deletion.
    &categories::ROOM,
    &catalog::ROOM,
    &comments::ROOM,
    &people::ROOM,
    &content::ROOM,
    &identities::ROOM,
    &assets::ROOM,
    &hits::ROOM,
];

/// Every collection with its indexes.
pub fn collections() -> Vec<Declared> {
    let rooms = ROOMS.iter().flat_map(|room| room.collections);
    iter::once(&room::declared::<LeaseDocument>()).chain(rooms).copied().collect()
}

/// Checks the invariants of every room.
pub async fn check(app: &App) -> Result<Report, Error> {
    let mut report = Report::default();
    for room in ROOMS {
        if let Some(check) = room.check {
            check(app, &mut report).await?;
        }
    }
    Ok(report)
}

/// Corrects stored values that are derived from other documents. Returns where it corrected something.
///
/// # Errors
/// `Unavailable` or `Internal`: it can be repeated.
pub async fn repair(app: &App) -> Result<Vec<String>, Error> {
    let mut repaired = Vec::new();
    for room in ROOMS {
        if let Some(repair) = room.repair {
            repaired.extend(repair(app).await?);
        }
    }
    Ok(repaired)
}
