//! What MongoDB sees of orders.

use async_graphql::Enum;
use mongodb::bson::DateTime;
use serde::{Deserialize, Serialize};

use crate::{
    domains::carts::{Address, Payment},
    graphql::scalars::CurrencyCode,
    mongo::{
        Stored, Version,
        flow::OpRecord,
        indexes::{Index, Key, Kind},
    },
};

/// One order, or the stone that a deleted one leaves.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderDocument {
    /// Id of the checkout that made it; of an anonymous order, the capability to see it.
    #[serde(rename = "_id")]
    pub id: String,
    /// The cart that was checked out.
    pub cart_id: String,
    /// Subject of the shopper, if the cart had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// See the room's `mod.rs`.
    pub state: OrderState,
    /// Set on the stone that a deleted order leaves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// Raised by every decision, and its guard.
    pub revision: i64,
    /// Currency of every amount.
    pub currency: CurrencyCode,
    /// What was bought, in the cart's order; a line that was taken off has quantity 0.
    pub lines: Vec<OrderLine>,
    /// Sum of the lines, in minor units.
    pub total: i64,
    /// The payments that were decided, oldest first.
    pub payments: Vec<OrderPayment>,
    /// Where it goes.
    #[serde(default)]
    pub shipping: Address,
    /// Who paid, and pays when a line is raised.
    #[serde(default)]
    pub payer: Payment,
    /// What is still to be given, and what was given a short while ago.
    pub outbox: Vec<Due>,
    /// Raised lines for which stock and money are being taken.
    pub raises: Vec<Raise>,
    /// Ops that were applied.
    pub ops: Vec<OpRecord>,
    /// Server time of the checkout.
    pub placed_at: DateTime,
    /// Server time of the last change.
    pub changed_at: DateTime,
    /// Version of the shape.
    pub v: Version<1>,
}

/// Where an order stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Enum)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum OrderState {
    /// Paid; its lines can be adjusted.
    Placed,
    /// Cancelled; goods and money are on their way back.
    Cancelling,
    /// Cancelled; goods and money are back.
    Cancelled,
}

/// One SKU of an order, at the price at which it was put into the cart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderLine {
    /// The product.
    pub sku: String,
    /// How many.
    pub quantity: i64,
    /// Title when it was put into the cart.
    pub title: String,
    /// Type of the product then.
    #[serde(rename = "type")]
    pub kind: String,
    /// Price then, in minor units.
    pub unit_price: i64,
}

/// One payment of an order: the checkout's, or that of a raised line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderPayment {
    /// Its id with the provider.
    pub id: String,
    /// What it took, in minor units.
    pub amount: i64,
    /// What of that is to be given back, by all decisions: what the outbox still owes of it hasn't
    /// moved.
    pub refunded: i64,
}

impl OrderDocument {
    /// What is still to be given: it isn't noted that it was.
    pub fn owed(&self) -> impl Iterator<Item = &Due> {
        self.outbox.iter().filter(|due| due.given.is_none())
    }

    /// The refunds that are still to be made, each as its payment and amount.
    pub fn refunds_due(&self) -> impl Iterator<Item = (&str, i64)> {
        self.owed().filter_map(|due| match &due.give {
            Give::Refund { payment, amount } => Some((payment.as_str(), *amount)),
            _ => None,
        })
    }
}

/// Outbox entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Due {
    /// Id of the give, which the receiver remembers.
    pub tag: String,
    /// What is to be given.
    pub give: Give,
    /// Server time of the decision.
    pub at: DateTime,
    /// Server time of the note that it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<DateTime>,
    /// Server time of the note that it can't be given yet: from then on only the sweep tries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred: Option<DateTime>,
}

/// What an outbox entry gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Give {
    /// Stock that a raise took becomes sold.
    Sell {
        /// The product.
        sku: String,
        /// How many.
        quantity: i64,
        /// Tag of the raise that took it.
        take: String,
    },
    /// The money of a raise.
    Capture {
        /// The payment.
        payment: String,
    },
    /// Sold goods go back on the shelf.
    Restock {
        /// The product.
        sku: String,
        /// How many.
        quantity: i64,
    },
    /// Money goes back.
    Refund {
        /// The payment of which it is a part.
        payment: String,
        /// Minor units.
        amount: i64,
    },
}

impl Give {
    /// Whether it is what a raise still owes: that comes before anything is given back.
    pub fn is_of_a_raise(&self) -> bool {
        matches!(self, Self::Sell { .. } | Self::Capture { .. })
    }
}

/// A line that is being raised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Raise {
    /// Id of this attempt: tag of the stock taken.
    pub tag: String,
    /// Id of the payment; of raises that were begun before payments had one, the tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment: Option<String>,
    /// The op behind it.
    pub op: String,
    /// Digest of its input.
    pub input: String,
    /// The product.
    pub sku: String,
    /// The line's quantity as it was read.
    pub from: i64,
    /// How many more.
    pub quantity: i64,
    /// What they cost, in minor units.
    pub amount: i64,
    /// Set once it was given up: it can't be decided any more.
    #[serde(default)]
    pub voiding: bool,
    /// Until when, on the server's clock, the run that began it writes.
    pub deadline: DateTime,
}

impl Raise {
    /// Id of the payment, which others see: nobody can tell the order's id from it.
    pub fn payment_id(&self) -> &str {
        self.payment.as_deref().unwrap_or(&self.tag)
    }
}

impl Stored for OrderDocument {
    const COLLECTION: &'static str = "orders";
    const INDEXES: &'static [Index] = &[
        Index {
            name: "owner_placed",
            keys: &[("owner", Key::Up), ("placedAt", Key::Down), ("_id", Key::Down)],
            kind: Kind::Where("owner"),
            serves: "myOrders",
        },
        Index {
            name: "outbox_at",
            keys: &[("outbox.at", Key::Up)],
            kind: Kind::Plain,
            serves: "the sweep of what is still to be given, or was given a while ago",
        },
        Index {
            name: "raises_deadline",
            keys: &[("raises.deadline", Key::Up)],
            kind: Kind::Plain,
            serves: "the sweep of raises that were cut",
        },
    ];
}
