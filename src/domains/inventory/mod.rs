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
//! restocks must land somewhere. A product that never had stock gets an empty one, which also stops
//! a first receipt that is under way.
//!
//! The goods on the shelf belong to the SKU. When another product is created under it (a later
//! `incarnation`), they are shown with it at once, and its first take or receipt opens the stock.
//! The catalog tells which product is there; the write that opens the stock is guarded by the
//! deletion that was read.
//!
//! # What is remembered of receipts
//!
//! A receipt is decided by one update of the stock document, which remembers its op. Every hundredth
//! receipt moves what is remembered on: it inserts a [`ReceiptDocument`] for each op, and when a
//! majority holds them it notes that on the stock. From one bound after the note on, the stock drops
//! these ops. A repeat looks for the `ReceiptDocument` first and is guarded by its deadline: either
//! it finds the document, or its write comes while the stock still has the op, or it comes too late.
//! So a SKU takes any number of receipts, and [`MOST_RECEIPTS`] within about one bound. The sweep
//! removes each document when its op is forgotten.
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

pub use documents::{ReceiptDocument, Reservation, StockDocument, Tag};
pub use types::Stock;

/// How many receipts a stock document remembers.
pub const MOST_RECEIPTS: usize = 3_000;
