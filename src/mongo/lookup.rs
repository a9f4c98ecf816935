//! Lookups: the kinds of reads by key that the loader batches.

use mongodb::{
    bson::{Bson, DateTime, Document, RawBsonRef, RawDocument, doc},
    error::Result,
};

use super::driver::malformed;

/// Collection, keys, fields and read concern of a read. Reads with the same lookup share their commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Lookup {
    pub(super) collection: &'static str,
    pub(super) keys: Keys,
    pub(super) fields: Fields,
    /// Whether the read concern is `majority` instead of `local`.
    pub(super) majority: bool,
}

/// The fields in which a value is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Keys {
    /// A unique field that holds a string.
    Unique(&'static str),
    /// Several fields that hold strings, possibly inside arrays on the path. A document is found if any of
    /// them has the value.
    Any(&'static [&'static str]),
}

impl Keys {
    fn fields(&self) -> &[&'static str] {
        match self {
            Self::Unique(field) => std::slice::from_ref(field),
            Self::Any(fields) => fields,
        }
    }

    pub(super) fn is_unique(self) -> bool {
        matches!(self, Self::Unique(_))
    }
}

/// The part of a document that a read returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Fields {
    /// The whole document.
    All,
    /// Only these fields; the key must be one of them.
    Only(&'static [&'static str]),
    /// The document as `document`, and the server's time as `now`.
    Timed,
}

impl Lookup {
    /// Projection of the `find` command; `None` for whole documents.
    pub(super) fn projection(&self) -> Option<Document> {
        match self.fields {
            Fields::All => None,
            Fields::Only(fields) => {
                Some(fields.iter().map(|field| ((*field).to_owned(), 1.into())).collect())
            }
            Fields::Timed => Some(doc! { "now": "$$NOW", "document": "$$ROOT" }),
        }
    }

    /// Filter of the documents in which any key field meets `condition`.
    pub(super) fn filter(&self, condition: &Bson) -> Document {
        let one = |key: &&str| doc! { *key: condition };
        match self.keys.fields() {
            [key] => one(key),
            keys => doc! { "$or": keys.iter().map(one).collect::<Vec<_>>() },
        }
    }

    /// The server's time in a returned document, if the lookup asks for it.
    pub(super) fn time(&self, returned: &RawDocument) -> Result<Option<DateTime>> {
        if self.fields != Fields::Timed {
            return Ok(None);
        }
        returned.get_datetime("now").map(Some).map_err(|_fault| malformed("no time"))
    }

    /// The values of the key fields in a returned document.
    pub(super) fn values<'a>(&self, returned: &'a RawDocument) -> Result<Vec<&'a str>> {
        let document = match self.fields {
            Fields::Timed => {
                returned.get_document("document").map_err(|_fault| malformed("no document"))?
            }
            Fields::All | Fields::Only(_) => returned,
        };
        let mut values = Vec::with_capacity(1);
        for key in self.keys.fields() {
            strings_at(document, key, &mut values)?;
        }
        Ok(values)
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
