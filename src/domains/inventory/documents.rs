//! The documents of the inventory as MongoDB stores them.

use std::time::Duration;

use mongodb::bson::{Bson, DateTime, doc};
use serde::{Deserialize, Serialize};

use crate::{
    app::App,
    config::Config,
    flow::OpRecord,
    mongo::{
        Stored, Version,
        derived::Derived,
        expression::{map, millis},
        indexes::Index,
    },
};

/// Stock of one SKU.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StockDocument {
    /// The SKU.
    #[serde(rename = "_id")]
    pub sku: String,
    /// Free stock, which can be reserved.
    pub available: i64,
    /// Sold stock that wasn't restocked.
    #[serde(default)]
    pub sold: i64,
    /// Sum of all receipts.
    #[serde(default)]
    pub received: i64,
    /// Reserved stock that isn't sold yet, one entry per holder.
    #[serde(default)]
    pub reservations: Vec<Reservation>,
    /// Op records of applied receipts, except those that a [`ReceiptDocument`] remembers.
    #[serde(default)]
    pub ops: Vec<OpRecord>,
    /// Imported receipts, which are remembered for good.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imported: Vec<ImportedReceipt>,
    /// Marks of applied restocks, until their orders retire them.
    #[serde(default)]
    pub restocks: Vec<Tag>,
    /// Set when the product was deleted: nothing can be reserved or received.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleting: bool,
    /// Generation of the product that was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<String>,
    /// Server time of the deletion, until it is applied to the catalog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_due: Option<DateTime>,
    /// Version of the document's format.
    pub v: Version<1>,
}

impl StockDocument {
    /// Stock without any receipt.
    pub(super) fn empty(sku: &str) -> Self {
        Self { sku: sku.to_owned(), ..Self::default() }
    }

    /// Whether the stock was closed for another generation than this one.
    pub(super) fn is_left_over(&self, generation: &str) -> bool {
        self.deleting && self.deleted.as_deref() != Some(generation)
    }
}

/// An applied receipt that is remembered outside the stock document. Every shopper rewrites the stock
/// document, so it has to stay small.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReceiptDocument {
    /// SKU and idempotency key.
    #[serde(rename = "_id")]
    pub id: String,
    /// Digest of the op's input.
    pub input: Option<String>,
    /// Server time of the receipt.
    pub at: DateTime,
    /// Version of the document's format.
    pub v: Version<1>,
}

/// What one holder has reserved of the SKU. An empty entry stays while it has marks of applies, unless
/// they aren't needed any more.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reservation {
    /// Holder: `_id` of the cart, or the name of the order that is being raised.
    pub holder: String,
    /// Quantity that it holds.
    pub quantity: i64,
    /// Marks of reserves that may still be released.
    #[serde(rename = "takes")]
    pub reserve_marks: Vec<Tag>,
    /// Marks of applies that may still be repeated.
    #[serde(rename = "gifts")]
    pub apply_marks: Vec<Tag>,
    /// Server time of the last change.
    pub at: DateTime,
}

impl Reservation {
    /// Whether it holds stock or may still be released.
    pub fn is_in_use(&self) -> bool {
        self.quantity > 0 || !self.reserve_marks.is_empty()
    }
}

/// An imported receipt, which isn't booked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedReceipt {
    /// Name of the receipt.
    pub receipt: String,
    /// Quantity that was received.
    pub quantity: i64,
    /// Server time of the receipt.
    pub at: DateTime,
}

/// A mark: the tag of a flow as the stock remembers it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tag {
    /// The tag.
    pub tag: String,
    /// Quantity that was moved.
    pub quantity: i64,
    /// Server time of the update.
    pub at: DateTime,
}

impl Stored for StockDocument {
    const COLLECTION: &'static str = "inventory";
    const INDEXES: &'static [Index] = &[
        Index::of_field("sweep_at", SWEEP_AT, "the sweep of reservations and their marks"),
        Index::of_field(
            "deletion_due",
            "deletionDue",
            "the sweep of deletions that the catalog hasn't followed",
        ),
    ];

    fn derived(config: &Config) -> Option<Derived> {
        let vanished = Duration::from_secs(config.reservation_seconds);
        let quiet = App::bounds_of(config).two_grace_periods();
        let delay = millis(vanished) - millis(quiet);
        Some(Derived { field: SWEEP_AT, value: sweep_at, delay })
    }
}

/// The part of a stock document that the sweep of reservations reads.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SweptStock {
    /// The SKU.
    #[serde(rename = "_id")]
    pub(super) sku: String,
    /// See [`StockDocument::reservations`].
    #[serde(default)]
    pub(super) reservations: Vec<Reservation>,
    /// Time since which something may have to be swept.
    pub(super) sweep_at: DateTime,
}

impl Stored for SweptStock {
    const COLLECTION: &'static str = StockDocument::COLLECTION;
}

/// The field by which the sweep finds stock documents. It isn't decoded.
pub(super) const SWEEP_AT: &str = "sweepAt";

/// Expression: the earliest time in the reservations, as the sweep counts it. A mark counts from its own time. An entry
/// without marks has to be looked at only if its holder has vanished, so it counts `delay` milliseconds later.
fn sweep_at(delay: i64) -> Bson {
    let marks = doc! { "$concatArrays": ["$reservations.takes", "$reservations.gifts"] };
    let oldest_mark = doc! { "$min": map(marks, doc! { "$min": "$$this.at" }) };
    let oldest_entry = doc! { "$min": "$reservations.at" };
    doc! { "$min": [oldest_mark, { "$add": [oldest_entry, delay] }] }.into()
}

impl Stored for ReceiptDocument {
    const COLLECTION: &'static str = "stockReceipts";
    const INDEXES: &'static [Index] =
        &[Index::plain("at", "at", "the sweep of receipts that may be forgotten")];
}
