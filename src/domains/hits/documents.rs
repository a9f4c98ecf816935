//! Stored documents of hits.

use std::collections::BTreeMap;

use mongodb::bson::{Document, doc};
use serde::{Deserialize, Serialize};

use crate::mongo::{Stored, Version};

/// Version of the documents' shape.
pub(super) const SHAPE: i32 = 1;

/// Counts by number: of a minute, an hour or a day.
pub(super) type Counts = BTreeMap<String, i64>;

/// The hits of one page on one day.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DayDocument {
    /// Page and day, such as `2026-11-23`.
    #[serde(rename = "_id")]
    pub id: PageDate,
    /// By hour, `0` to `23`.
    #[serde(default)]
    pub hourly: Counts,
    /// By hour and minute, `0` to `59`.
    #[serde(default)]
    pub minute: BTreeMap<String, Counts>,
    /// Version of the document's shape.
    pub v: Version<SHAPE>,
}

/// The hits of one page in one month.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MonthDocument {
    /// Page and month, such as `2026-11`.
    #[serde(rename = "_id")]
    pub id: PageDate,
    /// By day, `1` to `31`.
    #[serde(default)]
    pub daily: Counts,
    /// Version of the document's shape.
    pub v: Version<SHAPE>,
}

/// A page and a day or month. Documents are compared field by field in this order, so the documents of a page
/// are adjacent, ordered by time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PageDate {
    pub site: String,
    pub page: String,
    /// The day or month.
    pub date: String,
}

impl PageDate {
    /// The document that is stored as `_id`.
    pub(super) fn stored(&self) -> Document {
        let Self { site, page, date } = self;
        doc! { "site": site, "page": page, "date": date }
    }
}

impl Stored for DayDocument {
    const COLLECTION: &'static str = "statsDaily";
}

impl Stored for MonthDocument {
    const COLLECTION: &'static str = "statsMonthly";
}
