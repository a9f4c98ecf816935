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
//! Invariant, per SKU: `available + Σ reservations.quantity + sold = received`, nothing below zero.

mod documents;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
pub mod types;

pub use documents::{Reservation, StockDocument, Tag};
pub use types::Stock;
