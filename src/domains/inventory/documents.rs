//! What MongoDB sees of the inventory.

use mongodb::bson::DateTime;
use serde::{Deserialize, Serialize};

use crate::mongo::{
    Stored, Version,
    flow::OpRecord,
    indexes::{Index, Key, Kind},
};

/// Stock of one SKU.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StockDocument {
    /// The SKU.
    #[serde(rename = "_id")]
    pub sku: String,
    /// Free to be taken.
    pub available: i64,
    /// Sold and not restocked.
    #[serde(default)]
    pub sold: i64,
    /// Everything that ever came in.
    #[serde(default)]
    pub received: i64,
    /// What is taken and not yet sold, one entry per holder.
    #[serde(default)]
    pub reservations: Vec<Reservation>,
    /// Receipts that were applied, but for those that a [`ReceiptDocument`] remembers.
    #[serde(default)]
    pub ops: Vec<OpRecord>,
    /// Receipts that were imported, which are remembered for good.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imported: Vec<ImportedReceipt>,
    /// Restocks that were given, until their orders have noted them for good.
    #[serde(default)]
    pub restocks: Vec<Tag>,
    /// Set when the product was deleted: nothing can be taken or received.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleting: bool,
    /// Which incarnation of the product was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<String>,
    /// Server time of the deletion, until the catalog has followed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_due: Option<DateTime>,
    /// Version of the shape.
    pub v: Version<1>,
}

impl StockDocument {
    /// Stock of which nothing ever came in.
    pub(super) fn empty(sku: &str) -> Self {
        Self {
            sku: sku.to_owned(),
            available: 0,
            sold: 0,
            received: 0,
            reservations: Vec::new(),
            ops: Vec::new(),
            imported: Vec::new(),
            restocks: Vec::new(),
            deleting: false,
            deleted: None,
            deletion_due: None,
            v: Version,
        }
    }
}

/// A receipt that was applied, remembered outside the stock document: that one is rewritten by every
/// shopper and stays small.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReceiptDocument {
    /// The SKU and the op.
    #[serde(rename = "_id")]
    pub id: String,
    /// Digest of the op's input.
    pub input: Option<String>,
    /// Server time of the receipt.
    pub at: DateTime,
    /// Version of the shape.
    pub v: Version<1>,
}

/// What one holder has taken of the SKU. Emptied, not removed, while it remembers gives.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reservation {
    /// `_id` of the cart, or of the order that is being raised.
    pub holder: String,
    /// How much it holds.
    pub quantity: i64,
    /// Takes that may still be released.
    pub takes: Vec<Tag>,
    /// Gives that may still be repeated.
    pub gifts: Vec<Tag>,
    /// Server time of the last change.
    pub at: DateTime,
}

/// A receipt that was imported: it isn't booked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedReceipt {
    /// Its name.
    pub receipt: String,
    /// How much came in.
    pub quantity: i64,
    /// Server time.
    pub at: DateTime,
}

/// The mark of one flow.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tag {
    /// The flow's id.
    pub tag: String,
    /// How much it moved.
    pub quantity: i64,
    /// Server time.
    pub at: DateTime,
}

impl Stored for StockDocument {
    const COLLECTION: &'static str = "inventory";
    const INDEXES: &'static [Index] = &[
        Index {
            name: "reservations_at",
            keys: &[("reservations.at", Key::Up)],
            kind: Kind::Plain,
            serves: "the sweep of reservations whose holder has vanished",
        },
        Index {
            name: "reservations_takes_at",
            keys: &[("reservations.takes.at", Key::Up)],
            kind: Kind::Plain,
            serves: "the sweep of takes that were decided, or never will be",
        },
        Index {
            name: "reservations_gifts_at",
            keys: &[("reservations.gifts.at", Key::Up)],
            kind: Kind::Plain,
            serves: "the sweep that retires the marks of gives",
        },
        Index {
            name: "reservations_holder",
            keys: &[("reservations.holder", Key::Up)],
            kind: Kind::Plain,
            serves: "what one cart or order still holds, when it is closed",
        },
        Index {
            name: "deletion_due",
            keys: &[("deletionDue", Key::Up)],
            kind: Kind::Where("deletionDue"),
            serves: "the sweep of deletions that the catalog hasn't followed",
        },
    ];
}

impl Stored for ReceiptDocument {
    const COLLECTION: &'static str = "stockReceipts";
    const INDEXES: &'static [Index] = &[Index {
        name: "at",
        keys: &[("at", Key::Up)],
        kind: Kind::Plain,
        serves: "the sweep of receipts that may be forgotten",
    }];
}
