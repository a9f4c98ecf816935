//! Stored documents of hits.

use std::collections::BTreeMap;

use super::store::added_up;
use crate::mongo::{
    migrations::{Upgrade, newest},
    prelude::*,
    watch::key_of,
};

/// Version of the documents' shape.
pub(super) const SHAPE: i32 = 2;

const _: () = assert!(SHAPE == newest(DayDocument::UPGRADES));

/// Counts by number: of a minute, an hour or a day.
pub(super) type Counts = BTreeMap<String, i64>;

document! {
    /// The hits of one page on one day in UTC. Counts that are missing are zeros.
    pub struct DayDocument {
        /// Page and day, such as `2026-11-23`.
        pub id as "_id": PageDate,
        /// By hour, `0` to `23`.
        #[serde(default)]
        pub hourly: Counts,
        /// By hour and minute, `0` to `59`.
        #[serde(default)]
        pub minute: BTreeMap<String, Counts>,
        /// Hits of the whole day.
        #[serde(default)]
        pub total: i64,
        /// The last batches with an idempotency key that it contains.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub batches: Vec<BatchRecord>,
        /// The last batch of each import that it contains.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub imports: Vec<ImportRecord>,
        /// Version of the document's shape.
        pub v: Version<SHAPE>,
    }

    /// The hits of one page in one month in UTC. Counts that are missing are zeros.
    pub struct MonthDocument {
        /// Page and month, such as `2026-11`.
        pub id as "_id": PageDate,
        /// By day, `1` to `31`.
        #[serde(default)]
        pub daily: Counts,
        /// Hits of the whole month.
        #[serde(default)]
        pub total: i64,
        /// The last batches with an idempotency key that it contains.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub batches: Vec<BatchRecord>,
        /// The last batch of each import that it contains.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub imports: Vec<ImportRecord>,
        /// Version of the document's shape.
        pub v: Version<SHAPE>,
    }

    /// A batch of hits with an idempotency key, in the document that contains its hits.
    pub struct BatchRecord {
        /// The idempotency key, hashed with the caller, and the digest of the hits.
        pub tag: String,
        /// Server time at which the hits were added.
        pub at: DateTime,
    }

    /// The last batch of an import, in the document that contains its hits.
    pub struct ImportRecord {
        /// Name of the import's source.
        pub source: String,
        /// Number of the batch. All batches of the source with a smaller number are contained too.
        pub number: i64,
    }

    /// The hits of one page on one day or in one month.
    pub struct PageTotal {
        /// Page, and day or month.
        pub id as "_id": PageDate,
        /// Its hits.
        pub total: i64,
        /// Version of the document's shape.
        pub v: Version<SHAPE>,
    }

    /// A page and a day or month. Documents are compared field by field in this order, so the documents of a page
    /// are adjacent, ordered by time.
    #[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct PageDate {
        pub site: String,
        pub page: String,
        /// The day or month.
        pub date: String,
    }
}

impl PageDate {
    /// The document that is stored as `_id`.
    pub(super) fn stored(&self) -> Document {
        let Self { site, page, date } = self;
        doc! { "site": site, "page": page, "date": date }
    }

    /// The key by which the change hub knows the document.
    pub(super) fn watched(&self) -> String {
        key_of(&Bson::Document(self.stored())).into_owned()
    }

    /// The same page on another day or in another month.
    pub(super) fn on(&self, date: impl Into<String>) -> Self {
        Self { date: date.into(), ..self.clone() }
    }

    /// The month of a day.
    pub(super) fn month(&self) -> Self {
        self.on(&self.date[.."2026-11".len()])
    }

    /// The number of a day in its month, without a leading zero.
    pub(super) fn day(&self) -> &str {
        self.date["2026-11-".len()..].trim_start_matches('0')
    }
}

impl DayDocument {
    /// The document of a day without hits, with all counts.
    pub(super) fn empty(id: PageDate) -> Self {
        Self {
            id,
            hourly: zeros(0..24),
            minute: (0..24).map(|hour| (hour.to_string(), zeros(0..60))).collect(),
            total: 0,
            batches: Vec::new(),
            imports: Vec::new(),
            v: Version,
        }
    }
}

impl MonthDocument {
    /// The document of a month without hits, with the counts of this many days.
    pub(super) fn empty(id: PageDate, days: u8) -> Self {
        let (batches, imports) = (Vec::new(), Vec::new());
        Self { id, daily: zeros(1..days + 1), total: 0, batches, imports, v: Version }
    }
}

/// Sets the total of a document to the sum of the counts in a field, if that was read.
fn add_up(document: &mut Document, field: &str) {
    let Ok(counts) = document.get_document(field) else { return };
    let count = |count: &Bson| count.as_i64().or_else(|| count.as_i32().map(i64::from));
    let total: i64 = counts.values().filter_map(count).sum();
    document.insert("total", total);
}

fn zeros(numbers: std::ops::Range<u8>) -> Counts {
    numbers.map(|number| (number.to_string(), 0)).collect()
}

impl Stored for DayDocument {
    const COLLECTION: &'static str = "statsDaily";
    const GROUP: Group = Group::Activity;
    const INDEXES: &'static [Index] =
        &[Index::plain("hits_top", "_id.site _id.date -total", "topPages by day")];
    const UPGRADES: &'static [Upgrade] = &[Upgrade {
        says: "`total` is the sum of the counts. Earlier releases add hits without it.",
        fields: &["total"],
        stages: || vec![added_up("hourly")],
        in_memory: |day| add_up(day, "hourly"),
    }];
}

impl Stored for MonthDocument {
    const COLLECTION: &'static str = "statsMonthly";
    const GROUP: Group = Group::Activity;
    const INDEXES: &'static [Index] =
        &[Index::plain("hits_top", "_id.site _id.date -total", "topPages by month")];
    const UPGRADES: &'static [Upgrade] = &[Upgrade {
        says: "`total` is the sum of the counts. Earlier releases add hits without it.",
        fields: &["total"],
        stages: || vec![added_up("daily")],
        in_memory: |month| add_up(month, "daily"),
    }];
}

impl Stored for PageTotal {
    const COLLECTION: &'static str = DayDocument::COLLECTION;
    const GROUP: Group = Group::Activity;
    // It is read by its total alone, and so upgraded only where it is stored.
    const UPGRADES: &'static [Upgrade] =
        &[Upgrade { in_memory: |_total| {}, ..DayDocument::UPGRADES[0] }];
}
