//! Shipments, returns and notes as clients see them, and the filters of lists of orders.

use async_graphql::{Enum, InputObject, OneofObject, SimpleObject};

use super::{
    super::documents::{self, OrderDocument, ReturnState, ShipmentState, Stage},
    PieceLine,
};
use crate::{
    domains::metadata::MetadataFilter,
    graphql::{prelude::*, scalars::DateTime},
};

/// State of an order together with its fulfilment. A `PLACED` order is as far as the piece of it that is least far; pieces
/// that were taken off it or returned don't count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum OrderStage {
    /// Some pieces are still to be packed. Or all pieces were taken off the order before one was shipped: then a piece can be
    /// added again, and `cancelOrder` gives back what is left, such as shipping.
    Placed,
    /// Every piece is in a shipment, and some shipments are still to be handed to the carrier.
    Packed,
    /// Every piece is on its way or has arrived.
    Shipped,
    /// Every piece that is still part of the order has arrived.
    Delivered,
    /// As the state `CANCELLING`.
    Cancelling,
    /// As the state `CANCELLED`.
    Cancelled,
}

impl OrderStage {
    /// That of the order.
    pub fn of(order: &OrderDocument) -> Self {
        match order.reached() {
            Stage::Placed => Self::Placed,
            Stage::Packed => Self::Packed,
            Stage::Shipped => Self::Shipped,
            Stage::Delivered => Self::Delivered,
            Stage::Cancelling => Self::Cancelling,
            // Nobody sees a deleted order.
            Stage::Cancelled | Stage::Deleted => Self::Cancelled,
        }
    }
}

impl From<OrderStage> for Stage {
    fn from(stage: OrderStage) -> Self {
        match stage {
            OrderStage::Placed => Self::Placed,
            OrderStage::Packed => Self::Packed,
            OrderStage::Shipped => Self::Shipped,
            OrderStage::Delivered => Self::Delivered,
            OrderStage::Cancelling => Self::Cancelling,
            OrderStage::Cancelled => Self::Cancelled,
        }
    }
}

/// An order by its id or its number. Exactly one field must be set.
#[derive(Debug, OneofObject)]
pub enum OrderBy {
    /// Global id of the order.
    Id(ID),
    /// Order number, such as `7K3M-Q9TX-2`. Hyphens, spaces and capital letters don't matter, and the letters O, I and L are
    /// read as digits. It isn't a capability: an order that was placed without signing in is found by its number only by
    /// merchants.
    Number(String),
}

/// Filter of a list of orders. At most one of `stage`, `customerId`, `sku`, `number`, `metadata` and `returnRequested: true` may be
/// set; `returnRequested: false` and the range of times go with each of them but `number`.
#[derive(Debug, Default, InputObject)]
pub struct OrdersBy {
    /// Orders at this stage.
    pub stage: Option<OrderStage>,
    /// Orders of this customer: the subject of the customer's tokens.
    pub customer_id: Option<ID>,
    /// Orders that had a product or a variant with this SKU when they were placed, even if its line was lowered to zero
    /// since. The SKU of a product stands for its variants too. Orders of earlier versions are found once they have changed, or
    /// after `docgate check --repair`.
    pub sku: Option<ID>,
    /// The order with this number.
    pub number: Option<String>,
    /// Orders with a pair of metadata, such as their number in another system.
    pub metadata: Option<MetadataFilter>,
    /// Orders with a return on which a merchant has to decide; with `false`, those without one.
    pub return_requested: Option<bool>,
    /// Orders that were placed at this time or later.
    pub placed_from: Option<DateTime>,
    /// Orders that were placed before this time, which is after `placedFrom`.
    pub placed_before: Option<DateTime>,
}

/// A parcel of an order.
#[derive(Debug, SimpleObject)]
pub struct Shipment {
    /// Number of the shipment in the order. It is never used for another shipment.
    pub number: i32,
    /// How far the shipment has come.
    pub state: ShipmentState,
    /// What is in it, one line for each SKU.
    pub lines: Vec<PieceLine>,
    /// Name of the carrier. Null until it is shipped, and if the merchant gave none.
    pub carrier: Option<String>,
    /// Tracking number or address of the carrier. Null until it is shipped, and if the merchant gave none.
    pub tracking: Option<String>,
    /// Time at which it was packed.
    pub packed_at: DateTime,
    /// Time at which it was handed to the carrier; null before.
    pub shipped_at: Option<DateTime>,
    /// Time at which its arrival was recorded; null before.
    pub delivered_at: Option<DateTime>,
}

/// Pieces of one shipment that the customer wants to return, or has returned.
#[derive(Debug, SimpleObject)]
pub struct OrderReturn {
    /// Number of the return in the order.
    pub number: i32,
    /// Number of the shipment that has the pieces.
    pub shipment_number: i32,
    /// Whether the merchant has decided, and how.
    pub state: ReturnState,
    /// What is returned, one line for each SKU.
    pub lines: Vec<PieceLine>,
    /// Reason that the customer gave, if any.
    pub reason: Option<String>,
    /// Answer of the merchant, if any.
    pub answer: Option<String>,
    /// Time of the request.
    pub requested_at: DateTime,
    /// Time of the merchant's decision; null before.
    pub decided_at: Option<DateTime>,
}

/// A note of a merchant on an order. Customers don't see it.
#[derive(Debug, SimpleObject)]
pub struct OrderNote {
    /// User id of the merchant who wrote it, the subject of the merchant's token.
    pub author: String,
    /// Text of the note.
    pub text: String,
    /// Time at which it was written.
    pub written_at: DateTime,
}

impl Shipment {
    /// The parcel of this order.
    pub(super) fn of(of: &documents::Shipment, order: &OrderDocument) -> Self {
        Self {
            number: of.number,
            state: of.state,
            lines: PieceLine::all(&of.lines, order),
            carrier: of.carrier.clone(),
            tracking: of.tracking.clone(),
            packed_at: of.packed_at.into(),
            shipped_at: of.shipped_at.map(DateTime),
            delivered_at: of.delivered_at.map(DateTime),
        }
    }
}

impl OrderReturn {
    /// The return of this order.
    pub(super) fn of(of: &documents::OrderReturn, order: &OrderDocument) -> Self {
        Self {
            number: of.number,
            shipment_number: of.shipment,
            state: of.state,
            lines: PieceLine::all(&of.lines, order),
            reason: of.reason.clone(),
            answer: of.answer.clone(),
            requested_at: of.requested_at.into(),
            decided_at: of.decided_at.map(DateTime),
        }
    }
}

impl From<&documents::Note> for OrderNote {
    fn from(of: &documents::Note) -> Self {
        Self { author: of.author.clone(), text: of.text.clone(), written_at: of.at.into() }
    }
}
