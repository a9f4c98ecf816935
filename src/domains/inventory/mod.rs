//! Inventory: the stock of each SKU in one document, apart from the catalog's, so that stock traffic never
//! rewrites a product.
//!
//! Stock is a *receiver* in every flow but one: carts and orders commit. It is the decider only of the deletion of a
//! product. Reserves and applies carry the flow's tag. The reservation of the holder (a cart, or an order that is being
//! raised) keeps the marks, as `takes` and `gifts`:
//!
//! ```text
//!              reserve(tag)               sell(tag)
//!   available ────────────▶ reservation ────────────▶ sold
//!       ▲   release(tag)        │                       │
//!       ├───────────────────────┤ return(tag)           │
//!       └───────────────────────┴───────────────────────┘ restock(tag)
//! ```
//!
//! # Receipts
//!
//! A receipt is booked by one update, which remembers it: the idempotency key of a call as long as idempotency keys are
//! remembered, the name of an imported receipt for good (`imported`). `writeOffStock` is a receipt of a negative quantity, whose
//! guard is that so many pieces are free. It lowers `received` too, so the invariant and the number of reserved pieces stay
//! what they are.
//!
//! # Deleting a product
//!
//! Only the stock knows whether some of the product is still held. So the deletion is an operation of this
//! room, and the stock document is its decider: one update marks it `deleting`, guarded by nothing being
//! reserved. The flow reserves nothing, so it never has to be aborted: a refusal has changed nothing. The
//! same update is the outbox: `deletionDue` is the time since when it is due, and `deleted` the generation of
//! the product. The deletion is applied to the catalog and then settled. A repeat or the sweep finishes an
//! interrupted deletion.
//!
//! ```text
//!   open ──deleteProduct──▶ deleting, due ──catalog follows──▶ deleting ──another product──▶ open
//! ```
//!
//! The stock document stays for good: `sold` includes orders that may still be cancelled, and their restocks
//! need a receiver. A product that never had stock gets an empty stock document, which also refuses a first
//! receipt that is in flight.
//!
//! The goods on the shelf belong to the SKU. If another product is created under it (a later generation, the
//! field `incarnation`), its stock shows them at once, and its first reserve or receipt opens the stock. The
//! catalog tells which product exists; the write that opens the stock is guarded by the deletion that was
//! read.
//!
//! A variant is deleted in the same way (`deleteVariant`), and its stock remembers its generation. Its SKU can be used at once.
//! A call that read the earlier variant may then close the stock once more, for the earlier generation. Such stock is open for
//! the later one, as above. A product is deleted after its variants. A variant that is added while the deletion of its
//! product is committed is deleted with it, as far as nobody has reserved pieces of it.
//!
//! # Records of receipts
//!
//! A receipt is committed by one update of the stock document, which records its op. Every hundredth receipt moves the
//! records: it inserts a [`ReceiptDocument`] for each op, and when a majority holds them it notes that on the stock.
//! From one grace period after the note on, the stock drops these ops. A repeat looks for the `ReceiptDocument` first,
//! and its write carries the attempt's deadline. Either it finds the document, or its write arrives while the stock
//! still has the op, or it arrives too late. So a SKU can have any number of receipts, and [`MAX_RECEIPTS`] within
//! about one grace period. The sweep removes each document when its op need not be remembered any more.
//!
//! # Sweeps
//!
//! The sweep of carts finds the stock with reservations to look at by `sweepAt`, the earliest time in the reservations. An
//! index over the arrays themselves would have a key for each entry and mark, all computed anew by every update of the
//! stock. Every update derives `sweepAt` in its last stage (`mongo::derived`). An entry without marks agrees with its cart
//! and has to be looked at only if the cart has vanished, so it counts later, by `reservation_seconds`.
//!
//! Stock of an earlier version has no `sweepAt`, and a gateway of that version changes reservations without it. So
//! every pass of the sweep corrects the field of the next documents, in the order of SKUs.
//!
//! A checkout leaves an empty entry with marks, which the sweep of carts removes two grace periods later. A SKU in
//! demand would have hundreds of them, which every write of the stock rewrites. So a checkout has its entries removed
//! earlier (`operations/forgetting.rs`), if it knows that their marks aren't needed any more. Only empty entries are
//! removed.
//!
//! No query finds the reservations of a holder in all of the stock, because a cart or an order knows its SKUs. A
//! reserve of another SKU was never committed, and the sweep finds it by its mark.
//!
//! Invariant, per SKU: `available + Σ reservations.quantity + sold = received`, nothing below zero.

mod documents;
pub mod import;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
mod sweep;
pub mod types;

use super::{
    Room,
    broadcasts::broadcasts,
    room::{documented, unmet},
};
use crate::mongo::personal::Personal;
pub use documents::{Mark, ReceiptDocument, Reservation, StockDocument, SweptStock};
pub use types::{Availability, InsufficientStock, Stock};

/// Maximum number of op records of receipts in a stock document.
pub const MAX_RECEIPTS: usize = 3_000;

pub const ROOM: Room = Room {
    needs: &["catalog"],
    extends: &[
        ("Product", "availability"),
        ("Product", "stock"),
        ("ProductVariant", "availability"),
        ("ProductVariant", "stock"),
    ],
    faults: Some(|config| {
        unmet([(
            (2..=10_000).contains(&config.reservations_per_sku),
            "reservations_per_sku must be between 2 and 10000",
        )])
    }),
    documents: &[documented::<StockDocument>(), documented::<ReceiptDocument>()],
    broadcasts: broadcasts! {
        "inventory" {
            find "available" = "list: low stock",
            find "sweepAt" = "sweep: reservations and their marks",
            find "deletionDue" = "sweep: deletions that the catalog hasn't followed",
            update "" = "walk: corrects the times of sweeps by ranges of `_id`",
        }
        "stockReceipts" {
            delete "at" = "sweep: receipts that may be forgotten",
        }
    },
    personal: &[
        Personal::nothing("inventory", "stock; its holders are carts and orders"),
        Personal::nothing("stockReceipts", "goods that came in"),
    ],
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    repair: Some(|app, _| Box::pin(invariants::repair(app))),
    ..Room::new("inventory")
};
