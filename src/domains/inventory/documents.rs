//! The documents of the inventory as MongoDB stores them.

use std::{sync::Arc, time::Duration};

use mongodb::bson::RawDocumentBuf;

use crate::{
    app::App,
    config::Config,
    error::Result,
    flow::OpRecord,
    mongo::{
        derived::Derived,
        lazy_document::{Viewed, view},
        migrations::{Upgrade, newest},
        prelude::*,
    },
};

document! {
    /// Stock of one SKU.
    #[derive(Default)]
    pub struct StockDocument {
        pub sku as "_id": String,
        /// Free stock, which can be reserved.
        pub available: i64,
        /// Sold stock that wasn't restocked.
        #[serde(default)]
        pub sold: i64,
        /// Sum of all receipts, less what was written off.
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
        pub restocks: Vec<Mark>,
        /// Set when the product was deleted: nothing can be reserved or received.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub deleting: bool,
        /// Generation of the product that was deleted.
        pub deleted?: String,
        /// Server time of the deletion, until it is applied to the catalog.
        pub deletion_due?: DateTime,
        pub v: Version<2>,
    }
}

impl StockDocument {
    /// Stock without any receipt.
    pub(super) fn empty(sku: &str) -> Self {
        Self { sku: sku.to_owned(), ..Self::default() }
    }

    /// Whether the stock was closed for another generation than this one.
    pub(super) fn is_left_over(&self, generation: &str) -> bool {
        is_left_over(self.deleting, self.deleted.as_deref(), generation)
    }
}

/// See [`StockDocument::is_left_over`].
fn is_left_over(deleting: bool, deleted: Option<&str>, generation: &str) -> bool {
    deleting && deleted != Some(generation)
}

/// The free pieces of one SKU as a lazy document. Lists read it for each of their products.
pub(super) type StoredLevel = Viewed<LevelView<'static>>;

/// The documents are those of [`StockDocument`], which declares their indexes. The upgrade adds nothing that is viewed.
impl Stored for StoredLevel {
    const COLLECTION: &'static str = StockDocument::COLLECTION;
    const UPGRADES: &'static [Upgrade] = StockDocument::UPGRADES;

    fn read(stored: Arc<RawDocumentBuf>) -> Result<Self> {
        Self::over(stored)
    }
}

view! {
    /// What tells the free pieces of a [`StockDocument`], which describes the fields.
    #[derive(Debug, yoke::Yokeable)]
    pub struct LevelView<'a> {
        "available" => pub available: i64,
        "deleting" => pub deleting: Option<bool>,
        "deleted" => pub deleted: Option<&'a str>,
        "v" => pub v: Version<2>,
    }
}

impl LevelView<'_> {
    /// The free pieces of this generation of the product; `None` if it was deleted.
    pub(super) fn free(&self, generation: &str) -> Option<i64> {
        let deleting = self.deleting.unwrap_or_default();
        let is_open = !deleting || is_left_over(deleting, self.deleted, generation);
        is_open.then_some(self.available)
    }
}

document! {
    /// An applied receipt that is remembered outside the stock document. Every shopper rewrites the stock
    /// document, so it has to stay small.
    pub struct ReceiptDocument {
        /// SKU and idempotency key.
        pub id as "_id": String,
        /// Digest of the op's input.
        pub input: Option<String>,
        /// Server time of the receipt.
        pub at: DateTime,
        pub v: Version<1>,
    } in "stockReceipts" {
        plain("at", "at", "the sweep of receipts that may be forgotten"),
    }

    /// What one holder has reserved of the SKU. An empty entry stays while it has marks of applies, unless they
    /// aren't needed any more.
    pub struct Reservation {
        /// Holder: `_id` of the cart, or the name of the order that is being raised.
        pub holder: String,
        pub quantity: i64,
        /// Marks of reserves that may still be released.
        pub reserve_marks as "takes": Vec<Mark>,
        /// Marks of applies that may still be repeated.
        pub apply_marks as "gifts": Vec<Mark>,
        /// Server time of the last change.
        pub at: DateTime,
    }
}

impl Reservation {
    /// Whether it holds stock or may still be released.
    pub fn is_in_use(&self) -> bool {
        self.quantity > 0 || !self.reserve_marks.is_empty()
    }
}

document! {
    /// An imported receipt, which isn't booked again.
    #[derive(PartialEq, Eq)]
    pub struct ImportedReceipt {
        pub receipt: String,
        /// Quantity that was received.
        pub quantity: i64,
        /// Server time of the receipt.
        pub at: DateTime,
    }

    /// A mark: the tag of a flow as the stock remembers it.
    pub struct Mark {
        pub tag: String,
        /// Quantity that was moved.
        pub quantity: i64,
        /// Server time of the update.
        pub at: DateTime,
    }
}

const _: () = assert!(newest(StockDocument::UPGRADES) == 2);

impl Stored for StockDocument {
    const COLLECTION: &'static str = "inventory";
    const INDEXES: &'static [Index] = &[
        Index::of_field("sweep_at", SWEEP_AT, "the sweep of reservations and their marks"),
        Index::of_field(
            "deletion_due",
            "deletionDue",
            "the sweep of deletions that the catalog hasn't followed",
        ),
        // The stock of most products is above it, and their writes leave the index alone.
        Index::below("low", "available _id", ("available", LOW), "lowStock"),
    ];

    const UPGRADES: &'static [Upgrade] = &[Upgrade {
        says: "`sweepAt` is there if anything is reserved: every update derives it. Releases before it leave it out.",
        fields: &[SWEEP_AT],
        // Every update derives the field, that of the version too. It isn't decoded.
        stages: Vec::new,
        in_memory: |_stock| {},
    }];

    fn derived(config: &Config) -> Option<Derived> {
        let vanished = Duration::from_secs(config.reservation_seconds);
        let quiet = App::bounds_of(config).two_grace_periods();
        let delay = millis(vanished) - millis(quiet);
        Some(Derived { field: SWEEP_AT, value: sweep_at, delay })
    }
}

/// The list of low stock has only SKUs with fewer free pieces than this.
pub(super) const LOW: i64 = 1_000;

document! {
    /// The part of a stock document that the sweep of reservations reads.
    pub struct SweptStock {
        /// The SKU.
        pub sku as "_id": String,
        /// See [`StockDocument::reservations`].
        #[serde(default)]
        pub reservations: Vec<Reservation>,
    } in StockDocument: ["_id", "reservations", SWEEP_AT];
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
