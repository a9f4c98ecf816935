//! Decodes stored documents as types that implement serde's `Deserialize`.
//!
//! The `bson` crate's decoder has a type of map for each of eleven BSON types, and the compiler makes a copy of a struct's
//! decoding for each of them. Here there is one type of map, so that each struct is compiled once. The values are presented
//! as that crate presents them: types that JSON doesn't have are maps, as in
//! [Extended JSON](https://www.mongodb.com/docs/manual/reference/mongodb-extended-json/).

use base64::{Engine as _, prelude::BASE64_STANDARD};
use mongodb::bson::{
    DateTime, Decimal128, RawBinaryRef, RawBsonRef, RawDocument, RawRegexRef, Timestamp,
    oid::ObjectId,
    raw::{RawArrayIter, RawElement, RawIter},
    spec::BinarySubtype,
};
use serde::{
    Deserialize,
    de::{
        DeserializeSeed, Deserializer, Error as _, IntoDeserializer as _, MapAccess, SeqAccess,
        Visitor,
        value::{Error, MapAccessDeserializer},
    },
    forward_to_deserialize_any,
};

/// The name by which `bson` requests the bytes of a document. It is private there.
const WHOLE_DOCUMENT: &str = "$__private__bson_RawDocument";

/// Decodes a document from its bytes.
///
/// # Errors
/// The bytes aren't a document, or it doesn't have the type's fields.
pub(super) fn decode<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Error> {
    let document = RawDocument::from_bytes(bytes).map_err(Error::custom)?;
    T::deserialize(Value::Stored(RawBsonRef::Document(document)))
}

/// A stored value, or a part of one that is presented as a map; see [`Value::part`].
#[derive(Debug, Clone, Copy)]
enum Value<'de> {
    Stored(RawBsonRef<'de>),
    /// A document whose bytes are requested.
    Whole(&'de RawDocument),
    Bytes(&'de [u8]),
    Id(ObjectId),
    Decimal(Decimal128),
    Date(DateTime),
    Millis(i64),
    Time(Timestamp),
    Regex(RawRegexRef<'de>),
    Binary(RawBinaryRef<'de>),
    Base64(&'de [u8]),
    Subtype(u8),
}

impl<'de> Value<'de> {
    fn of(element: RawElement<'de>) -> Result<Self, Error> {
        element.value().map(Self::Stored).map_err(Error::custom)
    }

    fn text(text: &'de str) -> Self {
        Self::Stored(RawBsonRef::String(text))
    }

    /// A part of a value that is presented as a map, by its place.
    fn part(self, place: usize) -> Option<(&'static str, Self)> {
        let one = Self::Stored(RawBsonRef::Int32(1));
        Some(match (self, place) {
            (Self::Stored(RawBsonRef::ObjectId(id)), 0) => ("$oid", Self::Id(id)),
            (Self::Stored(RawBsonRef::DateTime(at)), 0) => ("$date", Self::Date(at)),
            (Self::Date(at), 0) => ("$numberLong", Self::Millis(at.timestamp_millis())),
            (Self::Stored(RawBsonRef::Binary(binary)), 0) => ("$binary", Self::Binary(binary)),
            (Self::Binary(binary), 0) => ("base64", Self::Base64(binary.bytes)),
            (Self::Binary(binary), 1) => ("subType", Self::Subtype(binary.subtype.into())),
            (Self::Stored(RawBsonRef::Decimal128(number)), 0) => {
                ("$numberDecimalBytes", Self::Decimal(number))
            }
            (Self::Stored(RawBsonRef::Timestamp(time)), 0) => ("$timestamp", Self::Time(time)),
            (Self::Time(time), 0) => ("t", Self::Stored(RawBsonRef::Int64(time.time.into()))),
            (Self::Time(time), 1) => ("i", Self::Stored(RawBsonRef::Int64(time.increment.into()))),
            (Self::Stored(RawBsonRef::RegularExpression(regex)), 0) => {
                ("$regularExpression", Self::Regex(regex))
            }
            (Self::Regex(regex), 0) => ("pattern", Self::text(regex.pattern.as_str())),
            (Self::Regex(regex), 1) => ("options", Self::text(regex.options.as_str())),
            (Self::Stored(RawBsonRef::JavaScriptCode(code)), 0) => ("$code", Self::text(code)),
            (Self::Stored(RawBsonRef::JavaScriptCodeWithScope(code)), 0) => {
                ("$code", Self::text(code.code))
            }
            (Self::Stored(RawBsonRef::JavaScriptCodeWithScope(code)), 1) => {
                ("$scope", Self::Stored(RawBsonRef::Document(code.scope)))
            }
            (Self::Stored(RawBsonRef::Symbol(symbol)), 0) => ("$symbol", Self::text(symbol)),
            (Self::Stored(RawBsonRef::Undefined), 0) => {
                ("$undefined", Self::Stored(RawBsonRef::Boolean(true)))
            }
            (Self::Stored(RawBsonRef::MinKey), 0) => ("$minKey", one),
            (Self::Stored(RawBsonRef::MaxKey), 0) => ("$maxKey", one),
            (Self::Whole(document), 0) => (WHOLE_DOCUMENT, Self::Bytes(document.as_bytes())),
            _ => return None,
        })
    }
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Stored(RawBsonRef::String(text)) => visitor.visit_borrowed_str(text),
            Self::Stored(RawBsonRef::Int32(number)) => visitor.visit_i32(number),
            Self::Stored(RawBsonRef::Int64(number)) => visitor.visit_i64(number),
            Self::Stored(RawBsonRef::Double(number)) => visitor.visit_f64(number),
            Self::Stored(RawBsonRef::Boolean(is_true)) => visitor.visit_bool(is_true),
            Self::Stored(RawBsonRef::Null) => visitor.visit_unit(),
            Self::Stored(RawBsonRef::Document(document)) => visitor.visit_map(Fields::of(document)),
            Self::Stored(RawBsonRef::Array(array)) => visitor.visit_seq(Items(array.into_iter())),
            Self::Stored(RawBsonRef::Binary(RawBinaryRef {
                subtype: BinarySubtype::Generic,
                bytes,
            }))
            | Self::Bytes(bytes) => visitor.visit_borrowed_bytes(bytes),
            Self::Id(id) => visitor.visit_bytes(&id.bytes()),
            Self::Decimal(number) => visitor.visit_bytes(&number.bytes()),
            Self::Millis(millis) => visitor.visit_string(millis.to_string()),
            Self::Base64(bytes) => visitor.visit_string(BASE64_STANDARD.encode(bytes)),
            Self::Subtype(number) => visitor.visit_string(format!("{number:02x}")),
            // It was deprecated long ago, and its parts can't be read.
            Self::Stored(RawBsonRef::DbPointer(_)) => Err(Error::custom("a pointer to a database")),
            _ => visitor.visit_map(Fields::Parts(self, 0)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Stored(RawBsonRef::Null) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Self::Stored(RawBsonRef::String(name)) => visitor.visit_enum(name.into_deserializer()),
            Self::Stored(RawBsonRef::Document(document)) => {
                visitor.visit_enum(MapAccessDeserializer::new(Fields::of(document)))
            }
            _ => Err(Error::custom("expected a variant, as a string or a document")),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Stored(RawBsonRef::ObjectId(id)) => visitor.visit_bytes(&id.bytes()),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Self::Stored(RawBsonRef::Document(document)) if name == WHOLE_DOCUMENT => {
                visitor.visit_map(Fields::Parts(Self::Whole(document), 0))
            }
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string byte_buf unit unit_struct seq tuple tuple_struct map
        struct identifier ignored_any
    }
}

/// The fields of a document, or the parts of a value that is presented as one.
enum Fields<'de> {
    /// What follows, and the field whose key was read.
    Document(RawIter<'de>, Option<RawElement<'de>>),
    /// The value, and the place of the next part.
    Parts(Value<'de>, usize),
}

impl<'de> Fields<'de> {
    fn of(document: &'de RawDocument) -> Self {
        Self::Document(document.iter_elements(), None)
    }
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let key = match self {
            Self::Document(rest, field) => {
                *field = rest.next().transpose().map_err(Error::custom)?;
                field.as_ref().map(|field| field.key().as_str())
            }
            Self::Parts(value, place) => value.part(*place).map(|(key, _)| key),
        };
        key.map(|key| seed.deserialize(Value::text(key))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let value = match self {
            Self::Document(_, field) => field.take().map(Value::of).transpose()?,
            Self::Parts(value, place) => {
                let part = value.part(*place);
                *place += 1;
                part.map(|(_, value)| value)
            }
        };
        seed.deserialize(value.ok_or_else(|| Error::custom("a value without a key"))?)
    }
}

/// The items of an array.
struct Items<'de>(RawArrayIter<'de>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let item = self.0.next().transpose().map_err(Error::custom)?;
        item.map(|item| seed.deserialize(Value::Stored(item))).transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use mongodb::bson::{
        Binary, Bson, Document, JavaScriptCodeWithScope, RawDocumentBuf, Regex, bson, cstr, doc,
    };
    use serde::Serialize;

    use super::*;

    fn bytes(document: &Document) -> RawDocumentBuf {
        RawDocumentBuf::try_from(document).expect("bytes")
    }

    #[test]
    fn a_document_keeps_values_of_all_types() {
        let binary = |subtype| Binary { subtype, bytes: vec![0, 1, 255] };
        let stored = doc! {
            "double": -0.5, "text": "ä\0", "document": { "a": { "b": [] } }, "array": [1, [2_i64, {}], null],
            "generic": binary(BinarySubtype::Generic), "uuid": binary(BinarySubtype::Uuid),
            "own": binary(BinarySubtype::UserDefined(0x81)), "id": ObjectId::from_bytes([7; 12]),
            "yes": true, "no": false, "at": DateTime::from_millis(-1), "last": DateTime::MAX, "null": null,
            "regex": Regex { pattern: cstr!("a+").into(), options: cstr!("i").into() },
            "code": Bson::JavaScriptCode("f()".into()), "symbol": Bson::Symbol("s".into()),
            "scoped": JavaScriptCodeWithScope { code: "g()".into(), scope: doc! { "x": 1 } },
            "int": i32::MIN, "long": i64::MAX, "time": Timestamp { time: u32::MAX, increment: 3 },
            "decimal": "1.5".parse::<Decimal128>().expect("a number"),
            "undefined": Bson::Undefined, "least": Bson::MinKey, "most": Bson::MaxKey,
        };
        let stored = bytes(&stored);
        let read: Document = decode(stored.as_bytes()).expect("a document");
        assert_eq!(bytes(&read), stored);
        let whole: RawDocumentBuf = decode(stored.as_bytes()).expect("a document");
        assert_eq!(whole, stored);
        let by_bson: Document =
            mongodb::bson::deserialize_from_slice(stored.as_bytes()).expect("too");
        assert_eq!(read, by_bson);
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Kind {
        Plain,
        One(i64),
        Two(i32, String),
        Named { at: DateTime },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "type")]
    enum Tagged {
        Empty,
        Full { id: ObjectId, at: DateTime },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Inner {
        at: DateTime,
        note: Option<String>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Newtype(String);

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Outer {
        #[serde(rename = "_id")]
        id: Newtype,
        kinds: Vec<Kind>,
        tagged: [Tagged; 2],
        #[serde(flatten)]
        inner: Inner,
        counts: BTreeMap<String, u32>,
        #[serde(default)]
        absent: Option<DateTime>,
        any: Bson,
        part: RawDocumentBuf,
        number: f64,
    }

    #[test]
    fn a_type_reads_what_it_has_written() {
        let at = DateTime::from_millis(1_700_000_000_123);
        let outer = Outer {
            id: Newtype("a".into()),
            kinds: vec![Kind::Plain, Kind::One(1), Kind::Two(2, "b".into()), Kind::Named { at }],
            tagged: [Tagged::Empty, Tagged::Full { id: ObjectId::from_bytes([1; 12]), at }],
            inner: Inner { at, note: None },
            counts: [("c".to_owned(), 3)].into(),
            absent: None,
            any: bson!([{ "d": at }, null]),
            part: bytes(&doc! { "e": at }),
            number: 2.0,
        };
        let written = mongodb::bson::serialize_to_raw_document_buf(&outer).expect("bytes");
        assert_eq!(decode::<Outer>(written.as_bytes()).expect("the type"), outer);
        // Fields that the type doesn't have are passed over, and whole numbers are numbers too.
        let mut more: Document = decode(written.as_bytes()).expect("a document");
        more.extend(doc! { "unknown": { "f": [at] }, "number": 2_i32 });
        assert_eq!(decode::<Outer>(bytes(&more).as_bytes()).expect("the type"), outer);
    }

    #[test]
    fn what_doesnt_fit_is_an_error() {
        let fault = |stored: Document| {
            decode::<Inner>(bytes(&stored).as_bytes()).expect_err("doesn't fit").to_string()
        };
        assert_eq!(fault(doc! {}), "missing field `at`");
        assert_eq!(fault(doc! { "at": "now" }), "expecting DateTime");
        assert!(
            fault(doc! { "at": DateTime::MIN, "note": 1 }).starts_with("invalid type: integer `1`")
        );
        assert!(decode::<Document>(&[5, 0, 0]).is_err());
        let mut cut = bytes(&doc! { "at": DateTime::MIN }).into_bytes();
        cut[4] = 0x7e;
        assert!(decode::<Document>(&cut).is_err());
    }
}
