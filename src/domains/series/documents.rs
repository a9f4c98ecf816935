//! Stored documents of series.

use std::collections::BTreeMap;

use crate::mongo::prelude::*;

/// Version of the documents' shape.
pub(super) const SHAPE: i32 = 1;

document! {
    /// The views of one page in one minute.
    pub struct BucketDocument {
        /// Page and minute.
        pub id as "_id": PageMinute,
        /// Views in the minute.
        pub total: i64,
        /// Views by second, `0` to `59`. A missing second has none.
        pub seconds: BTreeMap<String, i64>,
        /// Time after which MongoDB removes the document; `None` keeps it.
        pub expires_at?: DateTime,
        /// The last batch of each source whose views it contains.
        pub imports?: Vec<ImportDocument>,
        /// Version of the document's shape.
        pub v: Version<SHAPE>,
    } in "pageViews" of Activity {
        expiry("expires_at", "expiresAt", "the retention of views"),
    }

    /// A page and a minute. Documents are compared field by field in this order, so the minutes of a page are adjacent,
    /// ordered by time.
    pub struct PageMinute {
        /// The page.
        pub page: String,
        /// Start of the minute.
        pub at: DateTime,
    }

    /// The last batch of a source.
    pub struct ImportDocument {
        /// Name of the source.
        pub source as "_id": String,
        /// Number of the batch.
        pub batch: i64,
        /// Version of the document's shape. Documents of earlier releases don't have it.
        #[serde(default)]
        pub v: Version<1>,
    } in "viewImports" of Activity by unsharded("it has one document for each import") {}

    /// A measurement: views of a page in one second.
    pub struct PointDocument {
        /// The page.
        pub page: String,
        /// Start of the second.
        pub at: DateTime,
        /// Number of views.
        pub views: i64,
        /// Version of the document's shape. Documents of earlier releases don't have it.
        #[serde(default)]
        pub v: Version<1>,
    } in "pageViewPoints" of Activity
    by hash_of("page", "reads are of one page; it is a time-series collection") {}

    /// Views in the time from `at` on, as they are read.
    pub(super) struct Counted {
        /// Start of the second, minute, hour or day.
        pub at: DateTime,
        /// Views in it.
        pub views: i64,
    } in BucketDocument;

    /// The seconds of a bucket, as they are read.
    pub(super) struct CountedSeconds {
        /// Start of the minute.
        pub at: DateTime,
        /// Views by second.
        pub seconds: BTreeMap<String, i64>,
    } in BucketDocument;
}

impl PageMinute {
    /// The document that is stored as `_id`.
    pub(super) fn stored(&self) -> Document {
        doc! { "page": &self.page, "at": self.at }
    }
}
