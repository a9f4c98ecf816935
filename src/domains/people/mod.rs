//! People and their works: who made what, both ways, each side embedded in the other because both
//! are small.
//!
//! - `people` is the record of a name; products carry copies of it in `contributors`.
//! - `products` is the record of who made what; people carry copies of it in `works`.
//!
//! This room renames: the person decides, its outbox names the version that is still to be spread
//! over the products, and every copy of a lower version is written. A product that begins to copy
//! a name at the same moment reads it again afterwards (see the catalog), so nothing is missed.
//! Crediting is the catalog's, where its decider is; it gives to `works` through this room.
//!
//! ```text
//!   renamePerson ──▶ name, version, outbox ──spread──▶ products.contributors ──▶ outbox entry goes
//! ```
//!
//! An entry of `works` goes by the version of the product and is written whole, only where its own
//! version is lower. One without roles is a stone: it keeps an older pass, which may still be under
//! way, from bringing the work back. Every pass writes only before its run's deadline, and one that
//! doesn't know of the removal began before it, so a stone that has lain for two bounds is of no
//! more use and the sweep takes it.
//!
//! People aren't deleted: products and orders speak of them.
//!
//! Invariants: every copy of a name equals the record; `nameKey` is the name in lower case.

mod documents;
pub mod import;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
pub mod sweep;
pub mod types;

pub use documents::{PersonDocument, PersonName, Work};
