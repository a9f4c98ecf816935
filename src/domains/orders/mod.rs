//! Orders and the checkout that creates them: the collection `orders`, and the flow over carts, inventory and
//! payments.
//!
//! **Checkout.** The cart is the decider. The order's `_id` is the checkout's. The flow is that of all
//! [baskets](super::checkout), with a claim on the cart or without one; `tests/models` checks the one without.
//! `operations/checkout.rs` has what differs: stock that the cart doesn't hold is reserved first, and the stock of all lines is
//! moved to `sold`. A hold of money is nothing but a mark on the payer's account, so the sweep looks for accounts with old marks.
//!
//! Marks of stock stay until two grace periods after COMPLETE, or until the attempt that sold the goods removes its
//! reservations. Goods that a late repeat reserves after that are never sold, and the sweep returns them.
//!
//! A cart that is PAID without a claim is stored as `DECIDED`, and shown as PAID. Sweeps of versions without this flow would
//! sell the goods of a stored `PAID` cart again, under their own tag. They don't look for the new value.
//!
//! After a checkout with a claim, the stock that the cart holds beyond its lines is returned in the background.
//!
//! **Vouchers.** A cart with a voucher reserves its discount in the same step as stock and money, under the same tag, and
//! before the stock. It is released where the stock is released, and spent before COMPLETE. A cancelled order gives it back
//! by an entry of its outbox (`operations/discount.rs`; the steps are in the carts' `vouchers`).
//!
//! **Shipping and tax** are those of the cart's quote. The order keeps them as its charges (`operations/charges.rs`), with
//! whether prices include the tax. Without a quote, the charges of an order are the tax that its prices include, if it is known.
//! A merchant gives shipping back by a commit of the order (`operations/shipping.rs`).
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
//! *Deferred refunds.* The provider may be unable to pay a refund. docgate's own ledger can't pay while the merchant's
//! account holds less than the refund. The operation succeeds all the same: the entry stays due, and `deferred` records
//! since when. The caller's attempt and repeats of its op leave such an entry to the sweep, which asks the provider in each
//! pass.
//! `refunded` of an order excludes refunds that are due; `refundDue` is their amount. Each refund is paid as a whole or not
//! at all, and a refund that the account covers doesn't wait for a larger one. A refund also reaches an account of the
//! payer that is closed or full.
//!
//! Raising a line reserves first. It begins with a record in `raises`, so that a sweep knows what may have
//! been reserved. The abort marks that record (`voiding`, after which no commit finds it), undoes the
//! reservations and removes the record. A line that is lowered to zero stays in the document and isn't shown.
//! It can be raised again like any other line, at its old price. The payment of a raise has its own id, like
//! that of a checkout. The ledger remembers the cart or order of each payment, so the sweep voids only an
//! authorisation that belongs to none.
//!
//! **Numbers.** A number is a document of its own, whose `_id` is the number and that has the order's id. It is
//! inserted beside the order, whose checkout has decided then. If another order has the number already, the order gets
//! the next one. A deleted order keeps its number.
//!
//! **Fulfilment.** Shipments and returns are parts of the order. Packing, shipping, delivering, and the request and
//! refusal of a return are commits that add nothing to the outbox. An accepted return lowers its lines, and adds the
//! same entries as any lowering. So the quantity of a line is the sum of three numbers: the pieces that are to be
//! packed, those that are packed, and those that were sent and haven't come back. An order with sent pieces can't be
//! cancelled, and a line can't be lowered below its packed and sent pieces. `stage` and `returnRequestedAt` are
//! computed by every commit, for the lists of merchants. Releases without these fields leave them unchanged when they
//! change an order. `docgate check --repair` computes them anew, and gives the orders of such releases their numbers. A
//! note doesn't change the revision, because customers don't see it.
//!
//! **Bought together.** The module [`together`] counts from the orders which products were bought together.
//!
//! A deleted order leaves a tombstone with its `_id`, so that a late insert by the checkout is refused.
//!
//! Invariants:
//!
//! - Sold stock equals the lines of placed orders.
//! - Completed carts and orders belong together one to one, and have the same owner.
//! - The total of an order is the sum of its lines less the discount, with shipping and the tax that prices don't include. It
//!   equals what was paid less what is to be refunded; once the order is cancelled, that is zero.
//! - Captures and refunds of the provider equal those of the orders, except for refunds that are due.
//! - No tax of an order is more than what is taxed, and no more of shipping is given back than was refunded.
//! - No line has fewer pieces than are packed or sent, and no shipment has fewer than its returns.
//! - What was bought together is what a recount of the orders gives.

mod documents;
pub mod invariants;
pub mod operations;
mod person;
pub mod resolvers;
mod store;
mod sweep;
mod together;
pub mod types;

use super::{
    Room, broadcasts::broadcasts, metadata::MetadataOwner, nodes::node_type, room::documented,
};
use crate::{graphql::prelude::*, mongo::condition::is_absent};
pub use documents::OrderDocument;
use documents::OrderNumberDocument;
use together::TogetherDocument;
pub use types::Order;

impl NodeKind {
    /// An order.
    pub const ORDER: Self = Self::new("order");
}

pub const ROOM: Room = Room {
    needs: &["carts", "payments", "inventory", "transfers", "catalog"],
    extends: &[("Cart", "order"), ("Product", "boughtTogether")],
    nodes: &[node_type!(ORDER: Order, |cx, id| operations::order(cx, id))],
    metadata: &[MetadataOwner::of::<OrderDocument>(NodeKind::ORDER, Role::Merchant, || {
        is_absent("deleted")
    })],
    documents: &[
        documented::<OrderDocument>(),
        documented::<OrderNumberDocument>(),
        documented::<TogetherDocument>(),
    ],
    broadcasts: broadcasts! {
        "orders" {
            find "owner" = "list: the orders of their owner",
            find "outbox.at" = "sweep: what is still to be given",
            find "raises.deadline" = "sweep: raises that were cut",
            find "stage" = "list: the orders of a stage",
            find "skus" = "list: the orders of a SKU",
            find "returnRequestedAt" = "list: the orders with a return to be decided on",
            find "meta.pairs" = "list: the orders with a pair of metadata",
            find "deleted" = "list: all orders",
            find "placedAt" = "list: new orders",
            find "recount.at" = "sweep: changes that the counts of what was bought together haven't followed",
            aggregate "skus" = "sweep: counts what was bought together with a product",
        }
        "boughtTogether" {
            find "dirtyAt" = "sweep: what was bought together and is to be counted",
        }
    },
    personal: person::PERSONAL,
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    recount: Some(|app, sweep| Box::pin(together::recount(app, sweep))),
    check: Some(|app, report| {
        Box::pin(async move {
            invariants::check(app, report).await?;
            together::check(app, report).await
        })
    }),
    repair: Some(|app, _| {
        Box::pin(async move {
            let mut corrected = invariants::repair(app).await?;
            corrected.extend(together::repair(app).await?);
            Ok(corrected)
        })
    }),
    ..Room::new("orders")
};
