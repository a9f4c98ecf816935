//! Orders and the checkout that creates them: the collection `orders`, and the flow over carts, inventory and
//! payments.
//!
//! **Checkout.** The cart is the decider. The order's `_id` is the checkout's. The flow is that of all
//! [baskets](super::checkout), with a claim on the cart or without one; `tests/models` checks the one without.
//! `operations/checkout.rs` has what differs: stock that the cart doesn't hold is reserved first, and the stock of all lines is
//! moved to `sold`. A hold of money has no document but its mark on the payer's account, so the sweep looks for old holds.
//!
//! Marks of stock stay until two grace periods after COMPLETE, or until the attempt that sold the goods forgets its
//! reservations: what is reserved again after that is never sold, and the sweep returns it.
//!
//! A cart that is PAID without a claim is stored as `DECIDED`, and shown as PAID. Sweeps of versions without this flow would
//! sell the goods of a stored `PAID` cart again, under their own tag. They don't look for the new value.
//!
//! After a checkout with a claim, the stock that the cart holds beyond its lines is returned in the background.
//!
//! **An order** is the decider of its own changes:
//!
//! ```text
//!   PLACED ──cancel──▶ CANCELLING ──all applied──▶ CANCELLED ──delete──▶ (tombstone)
//! ```
//!
//! Every commit (cancelling, lowering, raising) is computed from the order as it was read, guards on its
//! `revision` and raises it. If it is refused, it is computed again. The outbox holds what is due:
//! stock to `sold`, a capture, restocks, refunds. A settled entry stays, with the time of its settling, until
//! no attempt that read it unsettled can still apply it. Then the sweep retires its marks in the inventory
//! and removes the entry.
//!
//! *Deferred refunds.* The provider may be unable to pay a refund; with docgate's own accounts, while the
//! merchant's account holds less. The operation succeeds although the refund is deferred. The entry stays due, and
//! `deferred` records since when. The caller's attempt and repeats of its op leave such an entry to the
//! sweep, which asks the provider in each pass. `refunded` of an order excludes refunds that are due; `refundDue` is
//! their amount. Each refund is paid as a whole or not at all, and a covered refund doesn't wait for a larger
//! one. A refund also reaches an account of the payer that is closed or full.
//!
//! Raising a line reserves first. It begins with a record in `raises`, so that a sweep knows what may have
//! been reserved. The abort marks that record (`voiding`, after which no commit finds it), undoes the
//! reservations and removes the record. A line that is lowered to zero stays in the document and isn't shown.
//! It can be raised again like any other line, at its old price. The payment of a raise has its own id, like
//! that of a checkout. The ledger remembers the cart or order of each payment, so the sweep voids only an
//! authorisation that belongs to none.
//!
//! A deleted order leaves a tombstone with its `_id`, so that a late insert by the checkout is refused.
//!
//! Invariants: sold stock equals the lines of placed orders; completed carts and orders belong together one
//! to one and have the same owner; the total is the sum of the lines, and equals what was paid less what is
//! to be refunded (zero once an order is cancelled); captures and refunds of the provider equal those of the
//! orders, except for refunds that are due.

mod documents;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
mod sweep;
pub mod types;

use super::{
    Room,
    nodes::node_type,
    room::{declared, documented},
};
use crate::graphql::node_id::NodeKind;
pub use documents::OrderDocument;
pub use types::Order;

impl NodeKind {
    /// An order.
    pub const ORDER: Self = Self::new("order");
}

pub const ROOM: Room = Room {
    needs: &["carts", "payments", "inventory", "transfers", "catalog"],
    extends: &[("Cart", "order")],
    nodes: &[node_type!(ORDER: Order, |cx, id| operations::order(cx, id))],
    documents: &[documented::<OrderDocument>()],
    collections: &[declared::<OrderDocument>()],
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    ..Room::new("orders")
};
