//! Reads the bytes of stored documents in one pass (BSON 1.1, <https://bsonspec.org/spec.html>).
//!
//! The driver reads each key three times, even if the field isn't needed: it finds the end of the key, checks that
//! the key is UTF-8, and searches it for a zero byte. Here keys are bytes, and a value is decoded only when it is
//! read.

use std::fmt::{self, Display};

use mongodb::bson::{DateTime, RawDocument};

use super::stored::NEWER;

/// A stored value.
#[derive(Debug, Clone, Copy)]
pub struct Element<'a> {
    kind: u8,
    bytes: &'a [u8],
}

const DOUBLE: u8 = 0x01;
const STRING: u8 = 0x02;
const DOCUMENT: u8 = 0x03;
const ARRAY: u8 = 0x04;
const BOOLEAN: u8 = 0x08;
const DATE_TIME: u8 = 0x09;
const NULL: u8 = 0x0a;
const INT32: u8 = 0x10;
const INT64: u8 = 0x12;

impl<'a> Element<'a> {
    /// The value of a whole document.
    #[must_use]
    pub fn of(document: &'a RawDocument) -> Self {
        Self { kind: DOCUMENT, bytes: document.as_bytes() }
    }

    /// Whether it is null.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.kind == NULL
    }

    /// The string, if the value is one and is UTF-8.
    #[must_use]
    pub fn as_str(self) -> Option<&'a str> {
        // The text lies between its length and a zero byte.
        let (0, text) = self.bytes_of(STRING)?.get(4..)?.split_last()? else { return None };
        str::from_utf8(text).ok()
    }

    /// The integer, if the value is one of either width.
    #[must_use]
    pub fn as_integer(self) -> Option<i64> {
        match self.kind {
            INT32 => Some(i32::from_le_bytes(self.bytes.try_into().ok()?).into()),
            INT64 => Some(i64::from_le_bytes(self.bytes.try_into().ok()?)),
            _ => None,
        }
    }

    /// The number in double precision, if the value is one.
    #[must_use]
    pub fn as_double(self) -> Option<f64> {
        Some(f64::from_le_bytes(self.bytes_of(DOUBLE)?.try_into().ok()?))
    }

    /// The truth value, if the value is one.
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        match self.bytes_of(BOOLEAN)? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    /// The time, if the value is one.
    #[must_use]
    pub fn as_date_time(self) -> Option<DateTime> {
        let millis = self.bytes_of(DATE_TIME)?.try_into().ok()?;
        Some(DateTime::from_millis(i64::from_le_bytes(millis)))
    }

    /// The bytes of the document, if the value is one.
    #[must_use]
    pub fn as_document(self) -> Option<&'a [u8]> {
        self.bytes_of(DOCUMENT)
    }

    /// The fields of a document, in its order.
    ///
    /// # Errors
    /// The value isn't a document.
    pub fn fields(self) -> Result<Elements<'a>, TypeMismatch> {
        self.bytes_of(DOCUMENT).and_then(Elements::within).ok_or_else(TypeMismatch::default)
    }

    /// The elements of an array, in its order. Their keys are positions.
    ///
    /// # Errors
    /// The value isn't an array.
    pub fn items(self) -> Result<Elements<'a>, TypeMismatch> {
        self.bytes_of(ARRAY).and_then(Elements::within).ok_or_else(TypeMismatch::default)
    }

    fn bytes_of(self, kind: u8) -> Option<&'a [u8]> {
        (self.kind == kind).then_some(self.bytes)
    }
}

/// A value doesn't have the type that the view declares.
#[derive(Debug, Clone, Copy, Default, thiserror::Error)]
pub struct TypeMismatch {
    /// The innermost field with a name.
    field: Option<&'static str>,
    is_newer: bool,
}

impl TypeMismatch {
    /// The document is of a version that isn't known.
    #[must_use]
    pub fn newer() -> Self {
        Self { field: None, is_newer: true }
    }

    /// Whether the document is of a version that isn't known.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        self.is_newer
    }

    /// Adds the field that contains the value.
    #[must_use]
    pub fn within(self, field: &'static str) -> Self {
        Self { field: self.field.or(Some(field)), ..self }
    }
}

impl Display for TypeMismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field {
            Some(field) if self.is_newer => write!(formatter, "{NEWER} (`{field}`)"),
            Some(field) => write!(formatter, "`{field}` is missing or can't be read"),
            None => formatter.write_str("a part of the document can't be read"),
        }
    }
}

/// Iterator over keys and values.
#[derive(Debug)]
pub struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Elements<'a> {
    /// Checks that the document begins with its own length and ends with a zero byte.
    fn within(document: &'a [u8]) -> Option<Self> {
        let (length, rest) = document.split_first_chunk()?;
        let (zero, rest) = rest.split_last()?;
        let whole = usize::try_from(i32::from_le_bytes(*length)).ok()? == document.len();
        (whole && *zero == 0).then_some(Self { rest })
    }

    fn element(&mut self) -> Option<(&'a [u8], Element<'a>)> {
        let (&kind, rest) = self.rest.split_first()?;
        let (key, rest) = rest.split_at(zero_in(rest)?);
        let rest = &rest[1..];
        let (bytes, rest) = rest.split_at_checked(size(kind, rest)?)?;
        self.rest = rest;
        Some((key, Element { kind, bytes }))
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<(&'a [u8], Element<'a>), TypeMismatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let element = self.element();
        if element.is_none() {
            self.rest = &[]; // the position of the next element is unknown
        }
        Some(element.ok_or_else(TypeMismatch::default))
    }
}

fn zero_in(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == 0)
}

/// Length in bytes of the value at the beginning of `bytes`.
fn size(kind: u8, bytes: &[u8]) -> Option<usize> {
    let length = || usize::try_from(i32::from_le_bytes(*bytes.first_chunk()?)).ok();
    let length_and = |rest: usize| length()?.checked_add(rest);
    Some(match kind {
        NULL | 0x06 | 0x7f | 0xff => 0, // undefined, max key, min key
        0x08 => 1,                      // boolean
        INT32 => 4,
        0x01 | DATE_TIME | 0x11 | INT64 => 8, // double, timestamp
        0x07 => 12,                           // object id
        0x13 => 16,                           // decimal
        // The length includes itself in documents, arrays and code with scope,
        DOCUMENT | ARRAY | 0x0f => length()?,
        STRING | 0x0d | 0x0e => length_and(4)?, // but not in strings, code and symbols,
        0x05 => length_and(5)?,                 // in binaries, which have a subtype,
        0x0c => length_and(4 + 12)?,            // nor in pointers, which end with an object id.
        0x0b => {
            // A regular expression and its options, each ending with a zero byte.
            let options = zero_in(bytes)? + 1;
            options + zero_in(&bytes[options..])? + 1
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use mongodb::bson::{
        Binary, Bson, Decimal128, JavaScriptCodeWithScope, RawBsonRef, RawDocumentBuf, Regex,
        Timestamp, doc, oid::ObjectId, serialize_to_raw_document_buf, spec::BinarySubtype,
    };

    use super::*;

    fn keys(document: &[u8]) -> Option<Vec<&str>> {
        let elements = Elements::within(document)?;
        let key = |element: Result<(_, _), _>| std::str::from_utf8(element.ok()?.0).ok();
        elements.map(key).collect()
    }

    /// A document with a value of each type, each of them followed by another.
    fn of_everything() -> RawDocumentBuf {
        let id = ObjectId::from_bytes([7; 12]);
        let everything = doc! {
            "double": 1.5, "string": "größer", "document": { "a": 1 }, "array": ["b", {}], "empty": "",
            "binary": Binary { subtype: BinarySubtype::Generic, bytes: vec![0; 9] },
            "old": Binary { subtype: BinarySubtype::BinaryOld, bytes: vec![1; 3] },
            "undefined": Bson::Undefined, "id": id, "boolean": true, "date": DateTime::from_millis(-5),
            "null": Bson::Null,
            "regex": Regex { pattern: "a.b".try_into().expect("text"), options: "im".try_into().expect("text") },
            "code": Bson::JavaScriptCode("1".to_owned()), "symbol": Bson::Symbol("s".to_owned()),
            "scoped": JavaScriptCodeWithScope { code: "x".to_owned(), scope: doc! { "x": 1 } },
            "int32": 32, "timestamp": Timestamp { time: 1, increment: 2 }, "int64": 1_i64 << 40,
            "decimal": "12.5".parse::<Decimal128>().expect("a decimal"),
            "least": Bson::MinKey, "greatest": Bson::MaxKey, "": "last",
        };
        serialize_to_raw_document_buf(&everything).expect("a document")
    }

    #[test]
    fn documents_of_the_driver_are_read() {
        let written = of_everything();
        let theirs: Vec<_> =
            written.iter_elements().map(|one| one.expect("one").key().as_str()).collect();
        assert_eq!(keys(written.as_bytes()).expect("all of them"), theirs);
        let of = |key: &str| {
            let mut fields = Element::of(&written).fields().expect("a document");
            fields.find_map(|one| one.ok().filter(|one| one.0 == key.as_bytes())).expect("it").1
        };
        assert_eq!((of("string").as_str(), of("empty").as_str()), (Some("größer"), Some("")));
        assert_eq!((of("int32").as_integer(), of("int64").as_integer()), (Some(32), Some(1 << 40)));
        assert_eq!(of("date").as_date_time(), Some(DateTime::from_millis(-5)));
        assert_eq!((of("null").is_null(), of("string").is_null()), (true, false));
        assert_eq!(of("array").items().expect("an array").count(), 2);
        assert_eq!(keys(of("document").as_document().expect("a document")), Some(vec!["a"]));
        assert_eq!((of("symbol").as_str(), of("double").as_integer()), (None, None));
        assert!(of("array").fields().is_err() && of("document").items().is_err());
    }

    #[test]
    fn a_deprecated_pointer_is_skipped() {
        // The driver can't write this type. The bytes follow the specification.
        let mut bytes = vec![0, 0, 0, 0, 0x0c, b'p', 0, 2, 0, 0, 0, b'n', 0];
        bytes.extend([7; 12]);
        bytes.extend([NULL, b'z', 0, 0]);
        bytes[0] = bytes.len().try_into().expect("small");
        assert_eq!(keys(&bytes), Some(vec!["p", "z"]));
        let driver = RawDocument::from_bytes(&bytes).expect("a document");
        assert!(matches!(driver.get("p"), Ok(Some(RawBsonRef::DbPointer(_)))));
    }

    /// Wherever a document is truncated or changed, no byte outside of it is read.
    #[test]
    fn damage_is_an_error() {
        let written = of_everything();
        let bytes = written.as_bytes();
        for end in 0..bytes.len() {
            assert_eq!(keys(&bytes[..end]), None, "its length says more");
            // With a matching length, it ends in the middle of a value.
            let mut cut = bytes[..end].to_vec();
            if end >= 5 {
                cut[..4].copy_from_slice(&i32::try_from(end).expect("small").to_le_bytes());
                cut[end - 1] = 0;
                let known = keys(bytes).expect("all of them").len();
                assert!(keys(&cut).is_none_or(|keys| keys.len() < known));
            }
        }
        for at in 0..bytes.len() {
            for changed in [0, 0x7f, 0x80, 0xff] {
                let mut odd = bytes.to_vec();
                odd[at] = changed;
                if let Some(elements) = Elements::within(&odd) {
                    for (_, element) in elements.flatten() {
                        let _read =
                            (element.as_str(), element.as_integer(), element.as_date_time());
                        let _within = element.fields().map(Iterator::count);
                    }
                }
            }
        }
        let text = Element { kind: STRING, bytes: &[2, 0, 0, 0, 0xff, 0] };
        assert_eq!(text.as_str(), None, "no UTF-8");
    }
}
