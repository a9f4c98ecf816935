//! What MongoDB sees of carts.

use async_graphql::Enum;
use mongodb::bson::{Bson, DateTime};
use serde::{Deserialize, Serialize};

use crate::{
    graphql::scalars::CurrencyCode,
    mongo::{
        Stored, Version,
        flow::OpRecord,
        indexes::{Index, Key, Kind},
    },
};

/// One cart.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CartDocument {
    /// 128 random bits: the capability of an anonymous shopper.
    #[serde(rename = "_id")]
    pub id: String,
    /// Subject of the shopper who opened the cart signed in, or took it over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// When stock is taken.
    pub policy: CartPolicy,
    /// Currency of every line.
    pub currency: CurrencyCode,
    /// See the room's `mod.rs`.
    pub state: CartState,
    /// One line per SKU.
    pub lines: Vec<CartLine>,
    /// Ops that were applied or given up.
    pub ops: Vec<OpRecord>,
    /// Stock that is still to be returned.
    pub outbox: Vec<Return>,
    /// The checkout that is under way, or that closed the cart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout: Option<Checkout>,
    /// Checkouts that were begun; part of the next checkout's id.
    pub attempts: i32,
    /// Server time of opening.
    pub opened_at: DateTime,
    /// Server time of the last change of lines, state or owner, or of the last return that was noted.
    /// Giving up a tag leaves it as it is.
    pub modified_at: DateTime,
    /// Version of the shape.
    pub v: Version<1>,
}

/// When stock is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Enum)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CartPolicy {
    /// When a line is added: what is in the cart is yours until the cart expires.
    Reserve,
    /// When the cart is checked out: adding promises nothing.
    AtCheckout,
}

/// Where a cart stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Enum)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CartState {
    /// Takes changes.
    Active,
    /// Being checked out.
    Pending,
    /// A checkout is being undone; it becomes active again.
    Voiding,
    /// Paid; the order is being written.
    Paid,
    /// Checked out.
    Complete,
    /// Idle for too long; its stock is being returned.
    Expiring,
    /// Idle for too long; its stock is returned.
    Expired,
    /// Given up by the shopper; its stock is being returned.
    Cancelling,
    /// Given up by the shopper.
    Cancelled,
}

impl CartState {
    /// Its name, as it is stored and as clients see it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Pending => "PENDING",
            Self::Voiding => "VOIDING",
            Self::Paid => "PAID",
            Self::Complete => "COMPLETE",
            Self::Expiring => "EXPIRING",
            Self::Expired => "EXPIRED",
            Self::Cancelling => "CANCELLING",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// Whether it never becomes active again.
    pub const fn is_closed(self) -> bool {
        !matches!(self, Self::Active | Self::Pending | Self::Voiding)
    }
}

impl From<CartState> for Bson {
    fn from(state: CartState) -> Self {
        Self::String(state.name().to_owned())
    }
}

/// One SKU in the cart, with the price at which it was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CartLine {
    /// The product.
    pub sku: String,
    /// How many.
    pub quantity: i64,
    /// How many of them the cart's reservation holds.
    pub held: i64,
    /// Title when it was added.
    pub title: String,
    /// Type of the product when it was added.
    #[serde(rename = "type")]
    pub kind: String,
    /// Retail price when it was added, in minor units.
    pub unit_price: i64,
}

/// Outbox entry: stock to be returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Return {
    /// The flow's id, which the receiver remembers.
    pub tag: String,
    /// The product.
    pub sku: String,
    /// How many.
    pub quantity: i64,
    /// Server time of the decision.
    pub at: DateTime,
}

/// One checkout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Checkout {
    /// Made of op id and attempt: `_id` of the order, which for an anonymous one is who may see it.
    pub id: String,
    /// Id of the payment, which others see: nobody can tell the order's id from it.
    pub payment_id: String,
    /// Subject of whoever checks out, where signed in: once it is paid the cart is theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The op that began it.
    pub op: String,
    /// Digest of its input.
    pub input: String,
    /// Where it goes.
    pub shipping: Address,
    /// Who pays.
    pub payment: Payment,
    /// Sum of the frozen lines, in minor units.
    pub total: i64,
    /// Until when, on the server's clock, the run that began it writes.
    pub deadline: DateTime,
}

/// Where goods go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Address {
    /// Name of the recipient.
    pub name: String,
    /// Street, house, and what else stands above the city.
    pub street: String,
    /// City with its code.
    pub city: String,
    /// ISO 3166 country code.
    pub country: String,
}

/// Who pays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Payment {
    /// For the ledger: account of the shopper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// For an HTTP provider: what its own page gave the shopper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

impl Stored for CartDocument {
    const COLLECTION: &'static str = "carts";
    const INDEXES: &'static [Index] = &[
        Index {
            name: "state_modified",
            keys: &[("state", Key::Up), ("modifiedAt", Key::Up), ("_id", Key::Up)],
            kind: Kind::Plain,
            serves: "the sweeps of idle carts and of flows that were cut",
        },
        Index {
            name: "outbox_at",
            keys: &[("outbox.at", Key::Up)],
            kind: Kind::Plain,
            serves: "the sweep of stock that is still to be returned",
        },
        Index {
            name: "owner_modified",
            keys: &[
                ("owner", Key::Up),
                ("state", Key::Up),
                ("modifiedAt", Key::Down),
                ("_id", Key::Down),
            ],
            kind: Kind::Where("owner"),
            serves: "myCart",
        },
    ];
}
