//! Additions to counters, as the commands have them; see `super::counts`.

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    mem,
};

use mongodb::bson::{Document, doc};

use super::migrations::known;

/// Amounts to add to the counts of one document. The document is inserted if it doesn't exist.
#[derive(Debug, Clone)]
pub struct Addition {
    /// The document's `_id`.
    pub id: Document,
    /// Amount by field. The field paths come from the code, never from a client.
    pub amounts: BTreeMap<String, i64>,
    /// The fields that the document gets if it is inserted, among them the version of its shape, `v`.
    pub fixed: Document,
}

impl Addition {
    fn amounts(&mut self) -> Document {
        mem::take(&mut self.amounts).into_iter().map(|(field, sum)| (field, sum.into())).collect()
    }

    /// The update. If `newest` is given, it doesn't match a document of a newer version.
    pub(super) fn update(mut self, newest: Option<i32>) -> Document {
        let amounts = self.amounts();
        let by_id = doc! { "_id": self.id };
        doc! {
            "q": match newest {
                Some(newest) => known(by_id, newest),
                None => by_id,
            },
            "u": { "$inc": amounts, "$setOnInsert": self.fixed },
            "upsert": true,
        }
    }

    /// The measurement: the fields of the id, and the amounts.
    pub(super) fn measurement(mut self) -> Document {
        let amounts = self.amounts();
        let mut measurement = self.id;
        measurement.extend(self.fixed);
        measurement.extend(amounts);
        measurement
    }
}

/// The additions of a batch, summed by document.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) documents: Vec<Addition>,
    /// Position of each document, by its `_id`.
    positions: HashMap<Document, usize>,
}

impl Sums {
    /// Adds to the sum of a document, and returns the document's position.
    pub(super) fn add(&mut self, addition: Addition) -> usize {
        match self.positions.entry(addition.id.clone()) {
            Entry::Vacant(entry) => {
                self.documents.push(addition);
                *entry.insert(self.documents.len() - 1)
            }
            Entry::Occupied(entry) => {
                let position = *entry.get();
                for (field, amount) in addition.amounts {
                    *self.documents[position].amounts.entry(field).or_default() += amount;
                }
                position
            }
        }
    }
}
