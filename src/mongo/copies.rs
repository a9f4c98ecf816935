//! Updates the copies of a record in other documents. Each copy carries the version of the record. A copy is
//! overwritten as a whole, and only if its version is lower. So an update of the copies may be repeated, interrupted,
//! or overtaken by a later one.

use mongodb::bson::{Bson, Document, doc};

use super::{
    collection::{Collection, Stored},
    expression::{changed, choose, literal, map},
};
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
    /// Writes `fields` (relative to the element) and `version` into every copy of the record `id` that has a lower version, in
    /// every document of `collection`. A document may contain several copies. The same update sets the fields `beside` of
    /// the documents to the values of expressions, which are evaluated before the copies change. Returns the number of
    /// documents with such a copy.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the copies may have been written, and the pass has to be repeated.
    pub async fn spread<T: Stored>(
        &self,
        collection: &Collection<T>,
        id: impl Into<Bson>,
        version: i64,
        fields: Document,
        beside: Document,
    ) -> Result<u64, Error> {
        let (id, path) = (id.into(), format!("{}.{}", self.array, self.key));
        let lower = doc! { self.key: &id, self.version: { "$lt": version } };
        let mut copy: Document =
            fields.into_iter().map(|(field, value)| (field, literal(value))).collect();
        copy.insert(self.version, version);
        let is_lower = doc! { "$and": [
            { "$eq": [format!("$$this.{}", self.key), literal(id.clone())] },
            { "$lt": [format!("$$this.{}", self.version), version] },
        ] };
        let mut set = beside;
        let array = format!("${}", self.array);
        set.insert(self.array, map(array, choose(is_lower, changed(copy), "$$this")));
        // The first condition lets the read use a partial index of documents that have `array.key`.
        let filter = doc! { path: &id, self.array: { "$elemMatch": lower } };
        collection.update_many(filter, vec![doc! { "$set": set }]).await
    }
}
