//! Shipments, returns and notes: the parts of an order that merchants work with.

use async_graphql::Enum;

use super::{OrderDocument, OrderLine, OrderState};
use crate::mongo::prelude::*;

document! {
    /// State of an order together with its fulfilment, by which merchants' lists find it.
    pub enum Stage {
        /// Some pieces are still to be packed; or the order has no pieces any more, and nothing of it was shipped.
        Placed,
        /// Every piece is in a shipment, and one of them isn't shipped.
        Packed,
        /// Every piece is shipped, and one of them isn't delivered.
        Shipped,
        /// Every piece that is left is delivered.
        Delivered,
        /// The order is being cancelled.
        Cancelling,
        /// The order is cancelled.
        Cancelled,
        /// The tombstone of a deleted order.
        Deleted,
    }

    /// A number of pieces of one SKU.
    #[derive(PartialEq, Eq)]
    pub struct Pieces {
        pub sku: String,
        /// Number of pieces, at least 1.
        pub quantity: i64,
    }

    /// One parcel of an order.
    #[derive(PartialEq, Eq)]
    pub struct Shipment {
        /// Its number in the order. A number isn't used again.
        pub number: i32,
        pub state: ShipmentState,
        /// What is in it, one entry for each SKU.
        pub lines: Vec<Pieces>,
        /// Name of the carrier.
        pub carrier?: String,
        /// The carrier's tracking number or address.
        pub tracking?: String,
        /// Server time of the packing.
        pub packed_at: DateTime,
        /// Server time at which it was handed to the carrier.
        pub shipped_at?: DateTime,
        /// Server time at which its arrival was recorded.
        pub delivered_at?: DateTime,
    }

    /// How far a shipment has come: from `PACKED` to `SHIPPED` and `DELIVERED`, and never back.
    #[derive(Enum)]
    pub enum ShipmentState {
        /// It is packed. It can still be unpacked.
        Packed,
        /// It is handed to the carrier.
        Shipped,
        /// It has arrived.
        Delivered,
    }

    /// Pieces of one shipment that the customer wants to return, or has returned.
    #[derive(PartialEq, Eq)]
    pub struct OrderReturn {
        /// Its number in the order.
        pub number: i32,
        /// Number of the shipment.
        pub shipment: i32,
        pub state: ReturnState,
        /// What is returned, one entry for each SKU.
        pub lines: Vec<Pieces>,
        /// Reason that the customer gave.
        pub reason?: String,
        /// Answer of the merchant.
        pub answer?: String,
        /// Server time of the request.
        pub requested_at: DateTime,
        /// Server time of the decision.
        pub decided_at?: DateTime,
    }

    /// State of a return. A merchant decides on it once.
    #[derive(Enum)]
    pub enum ReturnState {
        /// A merchant has to decide.
        Requested,
        /// The pieces are back in stock, and their price is refunded.
        Accepted,
        /// The merchant has refused it. The customer keeps the pieces.
        Refused,
    }

    /// A note that merchants see.
    #[derive(PartialEq, Eq)]
    pub struct Note {
        /// Subject of the merchant.
        pub author: String,
        pub text: String,
        /// Server time at which it was written.
        pub at: DateTime,
    }
}

/// Number of pieces of a SKU.
fn pieces_of(lines: &[Pieces], sku: &str) -> i64 {
    lines.iter().filter(|line| line.sku == sku).map(|line| line.quantity).sum()
}

impl Shipment {
    /// Whether it has left the merchant.
    pub fn is_sent(&self) -> bool {
        self.state != ShipmentState::Packed
    }
}

impl OrderDocument {
    /// Number of pieces of a SKU in shipments that are packed and not sent.
    pub fn packed(&self, sku: &str) -> i64 {
        let packed = self.shipments.iter().filter(|shipment| !shipment.is_sent());
        packed.map(|shipment| pieces_of(&shipment.lines, sku)).sum()
    }

    /// Number of pieces of a SKU that were sent and that no accepted return has brought back.
    pub fn sent(&self, sku: &str) -> i64 {
        let sent = self.shipments.iter().filter(|shipment| shipment.is_sent());
        let sent: i64 = sent.map(|shipment| pieces_of(&shipment.lines, sku)).sum();
        let back = self.returns.iter().filter(|one| one.state == ReturnState::Accepted);
        sent - back.map(|one| pieces_of(&one.lines, sku)).sum::<i64>()
    }

    /// Number of pieces of a line that are still to be packed.
    pub fn open(&self, line: &OrderLine) -> i64 {
        line.quantity - self.packed(&line.sku) - self.sent(&line.sku)
    }

    /// Number of pieces of a SKU in a shipment that no return has: neither a requested nor an accepted one.
    pub fn returnable(&self, shipment: &Shipment, sku: &str) -> i64 {
        let taken = self
            .returns
            .iter()
            .filter(|one| one.shipment == shipment.number && one.state != ReturnState::Refused);
        pieces_of(&shipment.lines, sku) - taken.map(|one| pieces_of(&one.lines, sku)).sum::<i64>()
    }

    /// The stage as it follows from state, lines, shipments and returns: that of the piece that is least far. An order that has
    /// lost all its pieces before one was shipped stays at the first one: nothing has arrived, and shipping is still paid.
    pub fn reached(&self) -> Stage {
        let has = |state| self.shipments.iter().any(|shipment| shipment.state == state);
        let has_open = || self.lines.iter().any(|line| self.open(line) > 0);
        match self.state {
            _ if self.deleted => Stage::Deleted,
            OrderState::Cancelling => Stage::Cancelling,
            OrderState::Cancelled => Stage::Cancelled,
            OrderState::Placed if self.shipments.is_empty() || has_open() => Stage::Placed,
            OrderState::Placed if has(ShipmentState::Packed) => Stage::Packed,
            OrderState::Placed if has(ShipmentState::Shipped) => Stage::Shipped,
            OrderState::Placed => Stage::Delivered,
        }
    }

    /// Time of the oldest return that a merchant has to decide on.
    pub fn oldest_request(&self) -> Option<DateTime> {
        let open = self.returns.iter().filter(|one| one.state == ReturnState::Requested);
        open.map(|one| one.requested_at).min()
    }
}
