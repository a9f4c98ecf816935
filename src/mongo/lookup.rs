//! Lookups: the kinds of reads by key that the loader batches.

use std::{
    hash::{Hash, Hasher},
    mem,
};

use mongodb::{
    bson::{Bson, DateTime, Document, RawBsonRef, RawDocument, doc},
    error::Result,
};

use super::{Stored, driver::malformed, lists::List, placement::Reads};

/// Collection, consistency, keys, fields and read concern of a read. Reads with the same lookup share their commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lookup {
    pub(super) collection: &'static str,
    pub(super) reads: Reads,
    pub(super) keys: Keys,
    pub(super) fields: Fields,
    /// Whether the read concern is `majority` instead of `local`.
    pub(super) majority: bool,
}

/// Each read looks for its batcher by its lookup. A collection has few lookups, and those mostly differ in the kind of their
/// fields or in the read concern, so the names of fields needn't be hashed.
impl Hash for Lookup {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.collection.hash(state);
        (mem::discriminant(&self.fields), self.majority).hash(state);
    }
}

/// The fields in which a value is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// The `_id`, which is a string.
    Id,
    /// Several fields that hold strings, possibly inside arrays on the path. A document is found if any of
    /// them has the value.
    Any(&'static [&'static str]),
    /// The field of a series. The newest documents of the series are found.
    Newest(&'static Series),
}

/// Documents that have the same string in a field are a series in an order.
#[derive(Debug, PartialEq, Eq)]
pub struct Series {
    /// The field.
    pub field: &'static str,
    /// The fields of the order. A document with higher values is newer.
    pub order: &'static [&'static str],
    /// Name of the index of the field and then the order.
    pub index: &'static str,
}

/// Number of documents of a series that a command for one series reads. The second one costs the server almost nothing.
const NEWEST: i64 = 2;

impl Keys {
    fn fields(&self) -> &[&'static str] {
        match self {
            Self::Id => &["_id"],
            Self::Any(fields) => fields,
            Self::Newest(series) => std::slice::from_ref(&series.field),
        }
    }

    pub(super) fn is_unique(self) -> bool {
        matches!(self, Self::Id)
    }
}

/// The part of a document that a read returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fields {
    /// The whole document.
    All,
    /// Only these fields; the key must be one of them.
    Only(&'static [&'static str]),
    /// All but these fields; the key is none of them.
    Except(&'static [&'static str]),
    /// The document as `document`, and the server's time as `now`.
    Timed,
}

impl Fields {
    /// Those that reads of this type return.
    pub(super) fn of<T: Stored>() -> Self {
        match (T::ONLY, T::UNREAD) {
            ([], []) => Self::All,
            ([], unread) => Self::Except(unread),
            (only, _) => Self::Only(only),
        }
    }

    /// The projection to them.
    pub(super) fn projection(self) -> Option<Document> {
        let each = |fields: &[&str], number: i32| -> Document {
            fields.iter().map(|field| ((*field).to_owned(), number.into())).collect()
        };
        match self {
            Self::All => None,
            Self::Only(fields) => Some(each(fields, 1)),
            Self::Except(fields) => Some(each(fields, 0)),
            Self::Timed => Some(doc! { "now": "$$NOW", "document": "$$ROOT" }),
        }
    }
}

/// Command of reads by key.
pub(super) const FIND: &str = "find";
/// Command that reads the newest documents of several series.
pub(super) const AGGREGATE: &str = "aggregate";

impl Lookup {
    /// The command for this number of items.
    pub(super) fn command(&self, items: usize) -> &'static str {
        match self.keys {
            Keys::Newest(_) if items > 1 => AGGREGATE,
            _ => FIND,
        }
    }

    /// Filter of the documents in which any key field meets `condition`.
    pub(super) fn filter(&self, condition: Bson) -> Document {
        match self.keys.fields() {
            [key] => doc! { *key: condition },
            keys => {
                let one = |key: &&str| doc! { *key: &condition };
                doc! { "$or": keys.iter().map(one).collect::<Vec<_>>() }
            }
        }
    }

    /// The server's time in a returned document, if the lookup asks for it.
    pub(super) fn time(&self, returned: &RawDocument) -> Result<Option<DateTime>> {
        if self.fields != Fields::Timed {
            return Ok(None);
        }
        returned.get_datetime("now").map(Some).map_err(|_fault| malformed("no time"))
    }

    /// The stored document in a returned one.
    pub(super) fn document<'a>(&self, returned: &'a RawDocument) -> Result<&'a RawDocument> {
        match self.fields {
            Fields::Timed => {
                returned.get_document("document").map_err(|_fault| malformed("no document"))
            }
            Fields::All | Fields::Only(_) | Fields::Except(_) => Ok(returned),
        }
    }

    /// Adds the values of the key fields in a stored document.
    pub(super) fn values<'a>(
        &self,
        document: &'a RawDocument,
        values: &mut Vec<&'a str>,
    ) -> Result<()> {
        self.keys.fields().iter().try_for_each(|key| strings_at(document, key, values))
    }
}

impl Series {
    /// The newest documents of one series.
    pub(super) fn newest(&self, value: &Bson) -> List {
        List {
            filter: doc! { self.field: value },
            sort: self.order.iter().map(|field| ((*field).to_owned(), (-1).into())).collect(),
            limit: NEWEST,
            hint: Some(self.index),
            ..List::default()
        }
    }

    /// The newest document of each series that meets the condition. The server seeks each in the index, and reads no other
    /// document (`DISTINCT_SCAN`).
    pub(super) fn newest_of_each(&self, condition: &Bson) -> Vec<Document> {
        let mut sort = doc! { self.field: -1 };
        sort.extend(self.order.iter().map(|field| ((*field).to_owned(), Bson::from(-1))));
        vec![
            doc! { "$match": { self.field: condition } },
            doc! { "$sort": sort },
            doc! { "$group": { "_id": format!("${}", self.field), "newest": { "$first": "$$ROOT" } } },
            doc! { "$replaceWith": "$newest" },
        ]
    }

    /// Whether these are all documents of a series that a command for so many series found.
    pub(super) fn is_whole(items: usize, found: usize) -> bool {
        items <= 1 && i64::try_from(found).is_ok_and(|found| found < NEWEST)
    }
}

/// Collects the strings at a path, including those inside arrays on the path.
fn strings_at<'a>(document: &'a RawDocument, path: &str, found: &mut Vec<&'a str>) -> Result<()> {
    let (field, rest) =
        path.split_once('.').map_or((path, None), |(field, rest)| (field, Some(rest)));
    match document.get(field).map_err(|_fault| malformed("a key"))? {
        Some(RawBsonRef::Array(all)) => {
            for one in all {
                string_in(one.map_err(|_fault| malformed("a key"))?, rest, found)?;
            }
            Ok(())
        }
        Some(one) => string_in(one, rest, found),
        None => Ok(()),
    }
}

fn string_in<'a>(
    value: RawBsonRef<'a>,
    rest: Option<&str>,
    found: &mut Vec<&'a str>,
) -> Result<()> {
    match (value, rest) {
        (RawBsonRef::String(value), None) => found.push(value),
        (RawBsonRef::Document(below), Some(rest)) => strings_at(below, rest, found)?,
        _ => {}
    }
    Ok(())
}
