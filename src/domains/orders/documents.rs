//! The documents of orders as MongoDB stores them.

mod fulfilment;

use std::collections::BTreeSet;

use async_graphql::Enum;

use super::together::Recount;
use crate::{
    domains::{
        carts::{
            Address,
            quotes::{Charges, Discounted},
            vouchers::VoucherHold,
        },
        catalog,
        metadata::MetadataPairs,
        paying::Payment,
    },
    flow::{Op, OpRecord},
    graphql::scalars::CurrencyCode,
    mongo::prelude::*,
};
pub(super) use fulfilment::{
    Note, OrderReturn, Pieces, ReturnState, Shipment, ShipmentState, Stage,
};

document! {
    /// One order, or the tombstone of a deleted one.
    pub struct OrderDocument {
        /// Id of the checkout that created it. For an anonymous order it is the capability to read it.
        pub id as "_id": String,
        /// The cart that was checked out.
        pub cart_id: String,
        /// The number by which people name it. Orders of earlier releases have none.
        pub number?: String,
        /// Subject of the shopper, if the cart had an owner.
        pub owner?: String,
        /// State; the diagram is in the room's `mod.rs`.
        pub state: OrderState,
        /// Set on the tombstone of a deleted order.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub deleted: bool,
        /// Revision number. Every commit raises it and guards on it.
        pub revision: i64,
        /// Currency of every amount.
        pub currency: CurrencyCode,
        /// Lines in the cart's order. A removed line has quantity 0.
        pub lines: Vec<OrderLine>,
        /// SKUs of the lines, and those of their products if they are of variants: each once, sorted. Every commit computes
        /// them; orders of earlier releases have none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub skus: Vec<String>,
        /// Sum of the lines less the discount, with shipping, and with tax unless prices include it; in minor units.
        pub total: i64,
        /// What a voucher takes off, if the cart had one.
        pub discount?: OrderDiscount,
        /// Shipping and tax, if the cart had a quote; otherwise the tax that prices include, if it is known.
        pub charges?: Charges,
        /// Committed payments, oldest first.
        pub payments: Vec<OrderPayment>,
        /// Shipping address.
        #[serde(default)]
        pub shipping: Address,
        /// Means of payment, also for raised lines.
        #[serde(default)]
        pub payer: Payment,
        /// Outbox: entries still to be applied, and entries that were applied recently.
        pub outbox: Vec<Due>,
        /// Raises of lines for which stock and money are being reserved.
        pub raises: Vec<Raise>,
        /// State together with its fulfilment. Every commit computes it; orders of earlier releases have none.
        pub stage?: Stage,
        /// Shipments, oldest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub shipments: Vec<Shipment>,
        /// Number of the last shipment, if there was one.
        pub last_shipment?: i32,
        /// Returns, oldest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub returns: Vec<OrderReturn>,
        /// Server time of the oldest return that isn't decided. Every commit computes it.
        pub return_requested_at?: DateTime,
        /// The mark of a change that the counts of what was bought together haven't followed yet.
        pub recount?: Recount,
        /// Notes of merchants, oldest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub notes: Vec<Note>,
        /// Records of applied ops.
        pub ops: Vec<OpRecord>,
        /// Its metadata.
        pub meta?: Box<MetadataPairs>,
        /// Server time of the checkout.
        pub placed_at: DateTime,
        /// Server time of the last change.
        pub changed_at: DateTime,
        pub v: Version<1>,
    } in "orders" {
        of("owner_placed", "owner -placedAt -_id", "owner", "myOrders"),
        // Most orders owe nothing and are raised by nobody, and so have no key in the next two.
        of_field("outbox_at", "outbox.at",
            "the sweep of what is still to be given, or was given a while ago"),
        of_field("raises_deadline", "raises.deadline", "the sweep of raises that were cut"),
        of_field("recount", "recount.at",
            "the sweep of changes that the counts of what was bought together haven't followed"),
        plain("placed", "-placedAt -_id", "orders, and orderPlaced"),
        of("stage_placed", "stage -placedAt -_id", "stage", "orders by stage"),
        of("skus_placed", "skus -placedAt -_id", "skus",
            "orders by SKU, and the count of what was bought together"),
        of("return_placed", "-placedAt -_id", "returnRequestedAt", "orders with a return to be decided on"),
        of("metadata_placed", "meta.pairs.key meta.pairs.value -placedAt -_id", "meta.version",
            "orders with a pair of metadata"),
    }

    /// The order that has a number, for good.
    pub(super) struct OrderNumberDocument {
        /// The number.
        pub(super) id as "_id": String,
        /// `_id` of the order.
        pub(super) order: String,
        pub(super) v: Version<1>,
    } in "orderNumbers" {
    }

    /// The part of an order by which new orders are found.
    pub(super) struct PlacedOrder {
        pub(super) id as "_id": String,
        /// See [`OrderDocument::placed_at`].
        pub(super) placed_at: DateTime,
    } in OrderDocument: ["_id", "placedAt"];

    /// How far an order has come: from `PLACED` to `CANCELLING` and `CANCELLED`, and never back.
    #[derive(Enum)]
    pub enum OrderState {
        /// The order is paid. Its lines can be adjusted, and it can be cancelled.
        Placed,
        /// The order is cancelled. Restocks or refunds are still to be made.
        Cancelling,
        /// The order is cancelled. All goods are restocked and all money is refunded.
        Cancelled,
    }

    /// One SKU of an order, at the price at which it was added to the cart.
    #[derive(PartialEq, Eq)]
    pub struct OrderLine {
        pub sku: String,
        /// Number of pieces.
        pub quantity: i64,
        /// Title when it was added to the cart.
        pub title: String,
        /// Type of the product at that time.
        pub kind as "type": String,
        /// Values of the variant's options at that time, if it is of a variant.
        pub variant_title?: String,
        /// Unit price at that time, in minor units.
        pub unit_price: i64,
    }

    /// What a voucher takes off an order.
    #[derive(PartialEq, Eq)]
    pub struct OrderDiscount {
        /// What the checkout spent of the voucher. It is given back if the order is cancelled.
        pub hold: VoucherHold,
        /// What is taken off the lines as they are now, in minor units: at most what was spent.
        pub amount: i64,
        /// The sum of the goods from which it is taken off, in minor units. Pieces that were added later have their full price.
        pub goods: i64,
    }

    /// One payment of an order: that of the checkout, or of a raised line.
    #[derive(PartialEq, Eq)]
    pub struct OrderPayment {
        /// Id under which the provider knows it.
        pub id: String,
        /// Amount that was paid, in minor units.
        pub amount: i64,
        /// Sum of the committed refunds. What the outbox still owes of it hasn't been paid yet.
        pub refunded: i64,
    }
}

impl OrderDocument {
    /// What [`Self::skus`] has for these lines.
    pub fn skus_of(lines: &[OrderLine]) -> Vec<String> {
        let each = |line: &OrderLine| {
            let sku = line.sku.as_str();
            [sku.to_owned(), catalog::product_sku(sku).to_owned()]
        };
        lines.iter().flat_map(each).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// What is taken off the lines, in minor units.
    pub fn taken_off(&self) -> i64 {
        self.discount.as_ref().map_or(0, |discount| discount.amount)
    }

    /// The discount and the goods that it is taken off.
    pub fn discounted(&self) -> Discounted {
        let Some(discount) = self.discount.as_ref().filter(|discount| discount.goods > 0) else {
            return Discounted::default();
        };
        let goods: i64 = self.lines.iter().map(|line| line.quantity * line.unit_price).sum();
        let OrderDiscount { amount, goods: of, .. } = *discount;
        Discounted { amount, goods: of, added: (goods - of).max(0) }
    }

    /// The outbox entries that aren't settled.
    pub fn owed(&self) -> impl Iterator<Item = &Due> {
        self.outbox.iter().filter(|due| due.settled.is_none())
    }

    /// The refunds that aren't settled, as payment id and amount.
    pub fn refunds_due(&self) -> impl Iterator<Item = (&str, i64)> {
        self.owed().filter_map(|due| match &due.action {
            Action::Refund { payment, amount } => Some((payment.as_str(), *amount)),
            _ => None,
        })
    }
}

document! {
    /// Outbox entry.
    #[derive(PartialEq, Eq)]
    pub struct Due {
        /// Tag of the apply, which the receiver remembers.
        pub tag: String,
        /// What is to be applied.
        pub action as "give": Action,
        /// Server time of the commit.
        pub at: DateTime,
        /// Server time at which it was settled.
        pub settled as "given"?: DateTime,
        /// Server time at which it was deferred. From then on only the sweep tries it.
        pub deferred?: DateTime,
    }
}

impl Due {
    /// Tag of the entry with this number of an op.
    pub fn tag(op: &Op, number: usize) -> String {
        format!("{}:{number}", op.id)
    }

    /// Whether the op committed the entry.
    pub fn is_of(&self, op: &Op) -> bool {
        self.tag.split(':').next() == Some(&op.id)
    }
}

/// Action of an outbox entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Action {
    /// Turns reserved stock of a raise into sold stock.
    Sell {
        sku: String,
        /// Number of pieces.
        quantity: i64,
        /// Tag of the raise that reserved it.
        #[serde(rename = "take")]
        raise: String,
    },
    /// Captures the payment of a raise.
    Capture {
        /// Id of the payment.
        payment: String,
    },
    /// Returns sold goods to the shelf.
    Restock {
        sku: String,
        /// Number of pieces.
        quantity: i64,
    },
    /// Refunds money.
    Refund {
        /// Id of the payment of which it is a part.
        payment: String,
        /// Amount in minor units.
        amount: i64,
    },
    /// Gives back what was spent of a voucher.
    GiveBack {
        /// What was spent.
        voucher: VoucherHold,
    },
}

impl Action {
    /// Whether a raise owes it. Such entries are applied before any restock or refund.
    pub fn is_of_a_raise(&self) -> bool {
        matches!(self, Self::Sell { .. } | Self::Capture { .. })
    }
}

document! {
    /// A line that is being raised.
    #[derive(PartialEq, Eq)]
    pub struct Raise {
        /// Id of this try, and tag of its reservation of stock.
        pub tag: String,
        /// Id of the payment. Raises from before payments had their own ids use the tag.
        pub payment?: String,
        /// Id of the op.
        pub op: String,
        /// Digest of the op's input.
        pub input: String,
        pub sku: String,
        /// The line's quantity as it was read.
        pub from: i64,
        /// Number of pieces to be added.
        pub quantity: i64,
        /// Their price, in minor units.
        pub amount: i64,
        /// Set by the abort: the raise can't be committed any more.
        #[serde(default)]
        pub voiding: bool,
        /// Deadline of the attempt that began it, on the server's clock.
        pub deadline: DateTime,
    }
}

impl Raise {
    /// Id of the payment. Others see it, and the order's id can't be derived from it.
    pub fn payment_id(&self) -> &str {
        self.payment.as_deref().unwrap_or(&self.tag)
    }
}
