//! Parts of stored documents that are decoded when they are needed.
//!
//! An owned type decodes all of its fields, which copies each string. A large part that few callers look at is kept in its
//! stored form instead. If most callers look at few fields of a type, the type is viewed; see
//! [`lazy_document`](super::lazy_document).

use std::sync::OnceLock;

use mongodb::bson::{RawBsonRef, RawDocumentBuf};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};

use super::{
    driver::{decode, encode},
    shape::{Described, Shape},
};
use crate::error::Error;

/// A document inside a stored one, which is decoded when it is first needed.
#[derive(Debug, Clone)]
pub struct Deferred<T> {
    stored: RawDocumentBuf,
    decoded: OnceLock<T>,
}

impl<T: Serialize + DeserializeOwned> Deferred<T> {
    /// The stored form of a value.
    ///
    /// # Errors
    /// `Internal` if it has none.
    pub fn of(value: T) -> Result<Self, Error> {
        Ok(Self { stored: encode(&value)?, decoded: OnceLock::from(value) })
    }

    /// The value.
    ///
    /// # Errors
    /// `Internal` if the stored document doesn't have the fields of the type.
    pub fn get(&self) -> Result<&T, Error> {
        if let Some(decoded) = self.decoded.get() {
            return Ok(decoded);
        }
        let decoded = decode(&self.stored)?;
        Ok(self.decoded.get_or_init(|| decoded))
    }

    /// The integer in a field. Nothing else is decoded.
    ///
    /// # Errors
    /// `Internal` if the stored document has no integer there.
    pub fn integer(&self, field: &str) -> Result<i64, Error> {
        match self.stored.get(field).map_err(Error::internal)? {
            Some(RawBsonRef::Int32(number)) => Ok(number.into()),
            Some(RawBsonRef::Int64(number)) => Ok(number),
            _ => Err(Error::internal(format!("`{field}` is no integer"))),
        }
    }
}

impl<'de, T> Deserialize<'de> for Deferred<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = RawDocumentBuf::deserialize(deserializer)?;
        Ok(Self { stored, decoded: OnceLock::new() })
    }
}

impl<T> Serialize for Deferred<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.stored.serialize(serializer)
    }
}

impl<T: Described> Described for Deferred<T> {
    const SHAPE: Shape = T::SHAPE;
}

#[cfg(test)]
mod tests {
    use mongodb::bson::{DateTime, Document, doc};

    use super::*;
    use crate::mongo::expression::stored_fields;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Part {
        count: i64,
        names: Vec<String>,
        at: Option<DateTime>,
    }

    #[derive(Serialize, Deserialize)]
    struct Whole {
        id: String,
        part: Deferred<Part>,
    }

    fn whole(part: Document) -> Whole {
        decode(&encode(&doc! { "id": "a", "part": part }).expect("encoded")).expect("a document")
    }

    #[test]
    fn a_part_is_stored_as_it_was_read() {
        let at = DateTime::from_millis(7);
        let stored = doc! { "other": 1, "count": 3, "names": ["b", "c"], "at": at };
        let whole = whole(stored.clone());
        assert_eq!(whole.part.integer("count").expect("a number"), 3);
        let part = Part { count: 3, names: vec!["b".into(), "c".into()], at: Some(at) };
        for _ in 0..2 {
            assert_eq!(whole.part.get().expect("the part"), &part);
        }
        let expected = doc! { "id": "a", "part": &stored };
        assert_eq!(stored_fields(&whole), expected);
        assert_eq!(encode(&whole).expect("encoded"), encode(&expected).expect("encoded"));
        let made = Deferred::of(part).expect("encoded");
        assert_eq!(made.integer("count").expect("a number"), 3);
        assert_eq!(made.get().expect("the part").names.len(), 2);
    }

    #[test]
    fn a_part_that_cant_be_decoded_leaves_the_rest_readable() {
        let whole = whole(doc! { "count": "three" });
        assert_eq!(whole.id, "a");
        assert!(matches!(whole.part.get(), Err(Error::Internal(_))));
        assert!(matches!(whole.part.integer("count"), Err(Error::Internal(_))));
        assert!(matches!(whole.part.integer("other"), Err(Error::Internal(_))));
        let fault = decode::<Whole>(&encode(&doc! { "id": "a", "part": 1 }).expect("encoded"));
        assert!(fault.is_err(), "a part is a document");
    }
}
