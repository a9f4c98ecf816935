//! Inventory: one document per SKU, apart from the catalog's, so that stock traffic never rewrites
//! a product.
//!
//! Stock is a *receiver* in every flow, never a decider: a cart or an order decides. Its takes and
//! gives are tagged with the flow's id, kept in the reservation of the holder (a cart, or an order
//! that is being raised):
//!
//! ```text
//!               take(tag)                 sell(tag)
//!   available ────────────▶ reservation ────────────▶ sold
//!       ▲   release(tag)        │                       │
//!       ├───────────────────────┤ give_back(tag)        │
//!       └───────────────────────┴───────────────────────┘ restock(tag)
//! ```
//!
//! # Receipts
//!
//! What comes in is booked by one update, which remembers the receipt: the op id of a call as long as op ids
//! are remembered, the name of an imported receipt for good (`imported`).
//!
//! # Deleting a product
//!
//! Only here can it be told whether some of it is still held, so the deletion lives here, and the
//! stock document is its decider: one update marks it `deleting`, guarded by nothing being
//! reserved. There is nothing to take first and so nothing to undo: a refusal has changed nothing.
//! The same update notes what is due (`deletionDue`, for which `deleted` incarnation of the
//! product); the catalog follows, which is then noted. A repeat or the sweep finishes a cut.
//!
//! ```text
//!   open ──deleteProduct──▶ deleting, due ──catalog follows──▶ deleting ──another product──▶ open
//! ```
//!
//! The stock document stays for good: `sold` speaks of orders that may yet be cancelled, and their
//! restocks must land somewhere; what was on the shelf is still there. A product that never had
//! stock gets an empty one, which also stops a first receipt that is under way. When another product
//! is created under the SKU (a later `incarnation`), its first receipt opens the stock again.
//!
//! Invariant, per SKU: `available + Σ reservations.quantity + sold = received`, nothing below zero.

mod documents;
pub mod import;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
pub mod sweep;
pub mod types;

pub use documents::{Reservation, StockDocument, Tag};
pub use types::Stock;
