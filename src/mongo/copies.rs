//! Copies of a record in other documents. Each copy carries the record's version. It is overwritten as a whole,
//! and only if its version is lower. A pass over the copies may therefore be repeated, overtaken or interrupted.

use mongodb::bson::{Bson, Document, doc};

use super::collection::{Collection, Stored};
use crate::error::Error;

/// The path of a record's copies in the documents of another collection.
#[derive(Debug, Clone, Copy)]
pub struct CopyPath {
    /// Path of the array that holds the copies.
    pub array: &'static str,
    /// Field of the element that holds the record's id. The collection needs an index that begins
    /// with `array.key`.
    pub key: &'static str,
    /// Field of the element that holds the record's version.
    pub version: &'static str,
}

impl CopyPath {
    /// Writes `fields` (relative to the element) and `version` into every copy of the record `id` that has a
    /// lower version, in every document of `collection`. A document may contain several copies. Returns the
    /// number of documents with such a copy.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the copies may have been written, and the pass has to be
    /// repeated.
    pub async fn spread<T: Stored>(
        &self,
        collection: &Collection<T>,
        id: impl Into<Bson>,
        version: i64,
        fields: Document,
    ) -> Result<u64, Error> {
        let id = id.into();
        let mut set = Document::new();
        for (field, value) in fields {
            set.insert(format!("{}.$[copy].{field}", self.array), value);
        }
        set.insert(format!("{}.$[copy].{}", self.array, self.version), version);
        let lower = doc! { self.key: &id, self.version: { "$lt": version } };
        let element = doc! {
            format!("copy.{}", self.key): &id,
            format!("copy.{}", self.version): { "$lt": version },
        };
        collection
            .update_many(
                // The first condition lets the read use a partial index of documents that have `array.key`.
                doc! { format!("{}.{}", self.array, self.key): &id, self.array: { "$elemMatch": lower } },
                doc! { "$set": set },
                vec![element],
            )
            .await
    }
}
