//! Inputs, results and refusals of fulfilment, returns and notes.

use super::{
    super::documents::{OrderDocument, ReturnState, ShipmentState},
    Order, OrderNotOpen,
};
use crate::{
    domains::carts::MAX_QUANTITY,
    graphql::{
        declared,
        prelude::*,
        scalars::{DateTime, int},
    },
};

/// Maximum number of shipments, and of returns, of one order.
pub(in super::super) const MOST: usize = 100;
/// Maximum number of notes of one order.
pub(in super::super) const NOTES: usize = 50;

/// A list with at least one element.
fn some_pieces() -> impl Fn(&str, &mut Vec<PiecesInput>) -> Result<(), Unusable> {
    |field, value| {
        if value.is_empty() {
            return Err(InvalidInput::new(field, "needs at least one line").into());
        }
        declared::each(100, declared::nested())(field, value)
    }
}

input! {
    /// A number of pieces of one product of an order.
    pub struct PiecesInput {
        /// SKU of the product.
        pub sku: ID where sku(),
        /// Number of pieces, 1 to 10,000.
        pub quantity: i32 where within(1..=MAX_QUANTITY),
    }

    /// Input of `packOrder`: the order, and what is in the parcel.
    pub struct PackOrderInput {
        /// Global id of the order.
        pub order_id: ID where id(NodeKind::ORDER),
        /// What is in the parcel, 1 to 100 lines. Default: everything that is still to be packed.
        pub lines: Option<Vec<PiecesInput>> where optional(some_pieces()),
        /// Idempotency key, 1 to 128 characters. One shipment is made, however often the call is repeated with the same key.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `unpackOrder`: the packed shipment to undo.
    pub struct UnpackOrderInput {
        /// Global id of the order.
        pub order_id: ID where id(NodeKind::ORDER),
        /// Number of the shipment within its order, from 1.
        pub shipment_number: i32,
        /// Idempotency key, 1 to 128 characters.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `shipOrder`: the packed shipment, and who carries it.
    pub struct ShipOrderInput {
        /// Global id of the order.
        pub order_id: ID where id(NodeKind::ORDER),
        /// Number of the shipment within its order, from 1.
        pub shipment_number: i32,
        /// Name of the carrier, 1 to 64 characters on one line.
        pub carrier: Option<String> where optional(line(1..=64)),
        /// Tracking number or address, 1 to 256 characters on one line. It is shown as it is.
        pub tracking: Option<String> where optional(line(1..=256)),
        /// Idempotency key, 1 to 128 characters.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `deliverOrder`: the shipment that has arrived.
    pub struct DeliverOrderInput {
        /// Global id of the order.
        pub order_id: ID where id(NodeKind::ORDER),
        /// Number of the shipment within its order, from 1.
        pub shipment_number: i32,
        /// Idempotency key, 1 to 128 characters.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `requestReturn`: the shipment, and what of it is returned.
    pub struct RequestReturnInput {
        /// Global id of the order.
        pub order_id: ID where id(NodeKind::ORDER),
        /// Number of the shipment that has the pieces.
        pub shipment_number: i32,
        /// What is returned, 1 to 100 lines. Default: everything of the shipment that isn't in another return.
        pub lines: Option<Vec<PiecesInput>> where optional(some_pieces()),
        /// Reason for the merchant, 1 to 1,000 characters.
        pub reason: Option<String> where optional(text(1..=1_000)),
        /// Idempotency key, 1 to 128 characters. One return is requested, however often the call is repeated with the same
        /// key.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `acceptReturn`: the return whose pieces have come back.
    pub struct AcceptReturnInput {
        /// Global id of the order.
        pub order_id: ID where id(NodeKind::ORDER),
        /// Number of the return within its order, from 1.
        pub return_number: i32,
        /// Answer for the customer, 1 to 1,000 characters.
        pub answer: Option<String> where optional(text(1..=1_000)),
        /// Idempotency key, 1 to 128 characters.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `refuseReturn`: the return that isn't accepted.
    pub struct RefuseReturnInput {
        /// Global id of the order.
        pub order_id: ID where id(NodeKind::ORDER),
        /// Number of the return within its order, from 1.
        pub return_number: i32,
        /// Answer for the customer, 1 to 1,000 characters.
        pub answer: Option<String> where optional(text(1..=1_000)),
        /// Idempotency key, 1 to 128 characters.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `noteOrder`: the order, and a note on it.
    pub struct NoteOrderInput {
        /// Global id of the order.
        pub order_id: ID where id(NodeKind::ORDER),
        /// Text of the note, 1 to 1,000 characters.
        pub text: String where text(1..=1_000),
        /// Idempotency key, 1 to 128 characters. The note is added once, however often the call is repeated with the same key.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }
}

result! {
    /// Result of `packOrder`: the order with its new shipment, the last one, or a refusal. `NotFound`: there is no such order,
    /// or the order doesn't have the product. `TooManyPieces`: fewer pieces are still to be packed. `InUse`: the order has the
    /// maximum number of shipments.
    pub enum PackOrderResult:
        OrderDocument => Order | NotFound | OrderNotOpen | TooManyPieces | InUse | Conflict | InvalidInput;

    /// Result of `unpackOrder`: the order without the shipment, or a refusal. `NotFound`: there is no such order, or it has no
    /// such shipment.
    pub enum UnpackOrderResult:
        OrderDocument => Order | NotFound | OrderNotOpen | ShipmentNotOpen | Conflict | InvalidInput;

    /// Result of `shipOrder`: the order, or a refusal. `NotFound`: there is no such order, or it has no such shipment.
    pub enum ShipOrderResult:
        OrderDocument => Order | NotFound | OrderNotOpen | ShipmentNotOpen | Conflict | InvalidInput;

    /// Result of `deliverOrder`: the order, or a refusal. `NotFound`: there is no such order, or it has no such shipment.
    pub enum DeliverOrderResult:
        OrderDocument => Order | NotFound | OrderNotOpen | ShipmentNotOpen | Conflict | InvalidInput;

    /// Result of `requestReturn`: the order with the new return, the last one, or a refusal. `NotFound`: the order doesn't exist
    /// for this caller, or it has no such shipment or product. `TooManyPieces`: the shipment has fewer pieces that aren't in
    /// another return. `InUse`: the order has the maximum number of returns.
    pub enum RequestReturnResult:
        OrderDocument => Order | NotFound | OrderNotOpen | ShipmentNotOpen | ReturnTooLate |
        TooManyPieces | InUse | Conflict | InvalidInput;

    /// Result of `acceptReturn`: the order after the return, or a refusal. `NotFound`: there is no such order, or it has no such
    /// return.
    pub enum AcceptReturnResult:
        OrderDocument => Order | NotFound | OrderNotOpen | ReturnNotOpen | Conflict | InvalidInput;

    /// Result of `refuseReturn`: the order, or a refusal. `NotFound`: there is no such order, or it has no such return.
    pub enum RefuseReturnResult:
        OrderDocument => Order | NotFound | OrderNotOpen | ReturnNotOpen | Conflict | InvalidInput;

    /// Result of `noteOrder`: the order, or a refusal. `InUse`: the order has the maximum number of notes.
    pub enum NoteOrderResult:
        OrderDocument => Order | NotFound | InUse | Conflict | InvalidInput;
}

refusal! {
    /// Pieces of the order are packed or shipped, so they can't be taken off it, and its address can't be changed. Nothing was
    /// changed.
    struct OrderShipped as "ORDER_SHIPPED" {
        /// SKU of the product.
        pub sku: ID,
        /// Number of its pieces that are packed or shipped. The line can't have fewer.
        pub least: i32,
    }

    /// More pieces were named than there are. Nothing was changed.
    struct TooManyPieces as "TOO_MANY_PIECES" {
        /// SKU of the product.
        pub sku: ID,
        /// Number of pieces that were named, at least 1.
        pub requested: i32,
        /// Number of pieces that can be had.
        pub available: i32,
    }

    /// The shipment can't be changed in this way in its present state.
    struct ShipmentNotOpen as "SHIPMENT_NOT_OPEN" {
        /// How far the shipment has come.
        pub shipment_state: ShipmentState,
    }

    /// The return was decided on before.
    struct ReturnNotOpen as "RETURN_NOT_OPEN" {
        /// What the merchant has decided.
        pub return_state: ReturnState,
    }

    /// The time in which the shipment could be returned is over.
    struct ReturnTooLate as "RETURN_TOO_LATE" {
        /// Time until which it could be returned.
        pub returnable_until: DateTime,
    }
}

impl OrderShipped {
    /// At least `least` pieces of the SKU stay in the order. `reason` says how far they are, what isn't possible and what is.
    pub fn new(sku: &str, least: i64, reason: &str) -> Self {
        let are = if least == 1 { "is" } else { "are" };
        Self::because(format!("{least} of {sku:?} {are} {reason}"), ID(sku.into()), int(least))
    }
}

impl TooManyPieces {
    /// `requested` pieces of the SKU were named, of which only `available` can be had.
    pub fn new(sku: &str, requested: i64, available: i64) -> Self {
        let message = format!("{sku:?}: {requested} pieces were named, {available} can be had");
        Self::because(message, ID(sku.into()), int(requested), int(available))
    }
}
