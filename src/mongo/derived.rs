//! Derived fields. Every update of a document computes such a field from the document's other fields.
//!
//! Sweeps find documents by an index over a derived field. An index over an array would have a key for each element,
//! and every update of the array would compute all of them anew. A derived field is a single value with a single key,
//! for example the earliest time in an array.
//!
//! [`Collection`] adds the stage that computes the field to every pipeline update, so no update can leave it out.
//! Combined writes of one document compute the field once, after the last of them. So no guard can contain the field. A
//! gateway of a version without the field leaves it out: [`Collection::derive_next`] corrects the field of one batch of
//! documents after another.

use mongodb::{
    bson::{Bson, Document, doc},
    options::UpdateModifications,
};

use super::{Collection, Stored, bulk::Walk};
use crate::error::Error;

/// A derived field: its name, and how its value follows from the document.
#[derive(Debug, Clone, Copy)]
pub struct Derived {
    /// Name of the field.
    pub field: &'static str,
    /// The value as an expression, of `delay`; null if the document doesn't have the field.
    pub value: fn(i64) -> Bson,
    /// A duration of the configuration that the value depends on, in milliseconds.
    pub delay: i64,
}

/// A delay in milliseconds that no configuration exceeds: a hundred years.
const LONGEST: i64 = 100 * 365 * 24 * 3_600_000;

impl Derived {
    /// The value as an expression.
    fn value(&self) -> Bson {
        (self.value)(self.delay)
    }

    /// The stage of an update that computes the field after the stages before it.
    pub(super) fn stage(&self) -> Document {
        let value = doc! { "$ifNull": [self.value(), "$$REMOVE"] };
        doc! { "$set": { self.field: value } }
    }

    /// True for documents whose field has another value.
    fn is_outdated(&self) -> Document {
        let found = doc! { "$ifNull": [format!("${}", self.field), Bson::Null] };
        doc! { "$ne": [found, { "$ifNull": [self.value(), Bson::Null] }] }
    }

    /// True for documents whose field is missing, or greater than its value under any configuration.
    fn is_late(&self) -> Document {
        let field = format!("${}", self.field);
        let is_later = doc! { "$or": [
            { "$eq": [{ "$ifNull": [&field, Bson::Null] }, Bson::Null] },
            { "$gt": [&field, "$$value"] },
        ] };
        doc! { "$let": {
            "vars": { "value": { "$ifNull": [(self.value)(LONGEST), Bson::Null] } },
            "in": { "$and": [{ "$ne": ["$$value", Bson::Null] }, is_later] },
        } }
    }
}

impl<T: Stored> Collection<T> {
    /// The stages of an update, with the one that computes the derived field.
    pub(super) fn with_derived(&self, mut stages: Vec<Document>) -> Vec<Document> {
        stages.extend(self.derived.map(|derived| derived.stage()));
        stages
    }

    /// The update, with the stage that computes the derived field.
    pub(super) fn derive(&self, update: UpdateModifications) -> UpdateModifications {
        match update {
            UpdateModifications::Pipeline(stages) => self.with_derived(stages).into(),
            update => {
                assert!(self.derived.is_none(), "only a pipeline can derive a field");
                update
            }
        }
    }

    /// Corrects the derived field of the next `count` documents of the walk; see [`Self::update_next`].
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the documents may have been corrected.
    pub async fn derive_next(&self, walk: Walk, count: u32) -> Result<(u64, Option<Walk>), Error> {
        let Some(derived) = self.derived else { return Ok((0, None)) };
        let outdated = doc! { "$expr": derived.is_outdated() };
        self.update_next(walk, count, outdated, Vec::<Document>::new()).await
    }

    /// The `_id`s of up to 100 documents whose derived field is missing or greater than its value would be under any
    /// configuration. So a command with another configuration than the gateways' finds none that they left right.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn list_late(&self) -> Result<Vec<Document>, Error> {
        let Some(derived) = self.derived else { return Ok(Vec::new()) };
        let project = doc! { "$project": { "isLate": derived.is_late(), derived.field: 1 } };
        let is_late = doc! { "$match": { "isLate": true } };
        self.aggregate(vec![project, is_late, doc! { "$limit": 100 }]).await
    }
}
