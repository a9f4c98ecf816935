//! Documents as canonical Extended JSON, in which each value keeps its type.
//! <https://github.com/mongodb/specifications/blob/master/source/extended-json/extended-json.md>
//!
//! The driver converts through trees of values, which takes longer than the compression of the result.

use std::{fmt, io::Write};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use mongodb::bson::{Bson, Document, RawArray, RawBsonRef, RawDocument, RawDocumentBuf};

/// A document can't be converted; contains the reason.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(in crate::cli) struct Unconverted(String);

impl Unconverted {
    pub(super) fn because(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

/// Keys that stand for a type. A stored field of such a name can't be told from a value of that type.
const RESERVED: [&str; 19] = [
    "$binary",
    "$code",
    "$date",
    "$dbPointer",
    "$maxKey",
    "$minKey",
    "$numberDecimal",
    "$numberDecimalBytes",
    "$numberDouble",
    "$numberInt",
    "$numberLong",
    "$oid",
    "$options",
    "$regularExpression",
    "$scope",
    "$symbol",
    "$timestamp",
    "$undefined",
    "$uuid",
];

/// Appends a document.
///
/// # Errors
/// A field has a reserved name or an obsolete type, or the document is damaged.
pub(in crate::cli) fn write(document: &RawDocument, text: &mut Vec<u8>) -> Result<(), Unconverted> {
    text.push(b'{');
    for (position, field) in document.iter().enumerate() {
        let (name, value) = field.map_err(Unconverted::because)?;
        let name = name.as_str();
        if name.starts_with('$') && RESERVED.contains(&name) {
            let reason = format!("has a field {name}, which stands for a type in Extended JSON");
            return Err(Unconverted(reason));
        }
        if position > 0 {
            text.push(b',');
        }
        string(name, text)?;
        text.push(b':');
        write_value(value, text)?;
    }
    text.push(b'}');
    Ok(())
}

fn write_array(array: &RawArray, text: &mut Vec<u8>) -> Result<(), Unconverted> {
    text.push(b'[');
    for (position, value) in array.into_iter().enumerate() {
        if position > 0 {
            text.push(b',');
        }
        write_value(value.map_err(Unconverted::because)?, text)?;
    }
    text.push(b']');
    Ok(())
}

fn write_value(value: RawBsonRef<'_>, text: &mut Vec<u8>) -> Result<(), Unconverted> {
    match value {
        RawBsonRef::String(value) => string(value, text),
        RawBsonRef::Document(value) => write(value, text),
        RawBsonRef::Array(value) => write_array(value, text),
        RawBsonRef::Boolean(value) => put(text, format_args!("{value}")),
        RawBsonRef::Null => put(text, format_args!("null")),
        RawBsonRef::Int32(value) => put(text, format_args!(r#"{{"$numberInt":"{value}"}}"#)),
        RawBsonRef::Int64(value) => put(text, format_args!(r#"{{"$numberLong":"{value}"}}"#)),
        RawBsonRef::Double(value) => double(value, text),
        RawBsonRef::DateTime(value) => {
            let millis = value.timestamp_millis();
            put(text, format_args!(r#"{{"$date":{{"$numberLong":"{millis}"}}}}"#))
        }
        RawBsonRef::ObjectId(value) => {
            put(text, format_args!(r#"{{"$oid":"{}"}}"#, value.to_hex()))
        }
        RawBsonRef::Binary(value) => {
            let (data, kind) = (BASE64.encode(value.bytes), u8::from(value.subtype));
            put(text, format_args!(r#"{{"$binary":{{"base64":"{data}","subType":"{kind:02x}"}}}}"#))
        }
        RawBsonRef::Decimal128(value) => {
            put(text, format_args!(r#"{{"$numberDecimal":"{value}"}}"#))
        }
        RawBsonRef::Timestamp(value) => {
            let (time, increment) = (value.time, value.increment);
            put(text, format_args!(r#"{{"$timestamp":{{"t":{time},"i":{increment}}}}}"#))
        }
        RawBsonRef::RegularExpression(value) => {
            put(text, format_args!(r#"{{"$regularExpression":{{"pattern":"#))?;
            string(value.pattern.as_str(), text)?;
            put(text, format_args!(r#","options":"#))?;
            string(value.options.as_str(), text)?;
            put(text, format_args!("}}}}"))
        }
        RawBsonRef::JavaScriptCode(value) => wrapped("$code", value, text),
        RawBsonRef::JavaScriptCodeWithScope(value) => {
            put(text, format_args!(r#"{{"$code":"#))?;
            string(value.code, text)?;
            put(text, format_args!(r#","$scope":"#))?;
            write(value.scope, text)?;
            put(text, format_args!("}}"))
        }
        RawBsonRef::Symbol(value) => wrapped("$symbol", value, text),
        RawBsonRef::Undefined => put(text, format_args!(r#"{{"$undefined":true}}"#)),
        RawBsonRef::MaxKey => put(text, format_args!(r#"{{"$maxKey":1}}"#)),
        RawBsonRef::MinKey => put(text, format_args!(r#"{{"$minKey":1}}"#)),
        RawBsonRef::DbPointer(_) => {
            Err(Unconverted("has a value of the obsolete type DBPointer".to_owned()))
        }
    }
}

/// The names of what isn't a number are those of the specification.
fn double(value: f64, text: &mut Vec<u8>) -> Result<(), Unconverted> {
    match value {
        f64::INFINITY => wrapped("$numberDouble", "Infinity", text),
        f64::NEG_INFINITY => wrapped("$numberDouble", "-Infinity", text),
        value if value.is_nan() => wrapped("$numberDouble", "NaN", text),
        value => put(text, format_args!(r#"{{"$numberDouble":"{value:?}"}}"#)),
    }
}

/// A text as a value of this type.
fn wrapped(name: &str, value: &str, text: &mut Vec<u8>) -> Result<(), Unconverted> {
    put(text, format_args!(r#"{{"{name}":"#))?;
    string(value, text)?;
    put(text, format_args!("}}"))
}

fn string(value: &str, text: &mut Vec<u8>) -> Result<(), Unconverted> {
    serde_json::to_writer(text, value).map_err(Unconverted::because)
}

fn put(text: &mut Vec<u8>, what: fmt::Arguments<'_>) -> Result<(), Unconverted> {
    text.write_fmt(what).map_err(Unconverted::because)
}

/// A document as text.
///
/// # Errors
/// As [`write`].
pub(in crate::cli) fn text_of(document: &Document) -> Result<String, Unconverted> {
    let raw = RawDocumentBuf::try_from(document).map_err(Unconverted::because)?;
    let mut text = Vec::new();
    write(&raw, &mut text)?;
    String::from_utf8(text).map_err(Unconverted::because)
}

/// The document in a text.
///
/// # Errors
/// The text isn't a document in Extended JSON.
pub(in crate::cli) fn parse(text: &[u8]) -> Result<Document, Unconverted> {
    match serde_json::from_slice(text) {
        Ok(Bson::Document(document)) => Ok(document),
        Ok(_) => Err(Unconverted("it isn't a document".to_owned())),
        Err(fault) => Err(Unconverted::because(fault)),
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::{
        Binary, DateTime, Decimal128, JavaScriptCodeWithScope, Regex, Timestamp, doc,
        oid::ObjectId, spec::BinarySubtype,
    };

    use super::*;

    fn binary(subtype: BinarySubtype, bytes: &[u8]) -> Binary {
        Binary { subtype, bytes: bytes.to_vec() }
    }

    #[test]
    fn every_type_survives() {
        let regex = Regex {
            pattern: r#"a"\d+"#.try_into().expect("text"),
            options: "im".try_into().expect("text"),
        };
        let decimal = |text: &str| text.parse::<Decimal128>().expect("a decimal");
        let everything = doc! {
            "_id": ObjectId::from_bytes([7; 12]),
            "texts": ["", "größer \"x\"\n\u{0}\u{1f}\u{2028}😀", "{\"$oid\": 1}"],
            "int32": [0, -1, i32::MIN, i32::MAX],
            "int64": [0_i64, 1 << 40, i64::MIN, i64::MAX],
            "doubles": [0.0, -0.0, 1.0, 0.1, 1e300, 5e-324, f64::MAX, f64::INFINITY, f64::NEG_INFINITY],
            "dates": [
                DateTime::from_millis(0), DateTime::from_millis(-5), DateTime::from_millis(1_700_000_000_123),
                DateTime::MAX, DateTime::MIN,
            ],
            "decimals": [decimal("12.50"), decimal("-0"), decimal("1E+3"), decimal("Infinity")],
            "binaries": [
                binary(BinarySubtype::Generic, &[]), binary(BinarySubtype::Generic, &[0, 255, 17]),
                binary(BinarySubtype::Uuid, &[3; 16]), binary(BinarySubtype::UserDefined(0x81), &[1]),
                binary(BinarySubtype::BinaryOld, &[1, 2, 3]),
            ],
            "truth": [true, false], "null": Bson::Null, "undefined": Bson::Undefined,
            "regex": regex, "code": Bson::JavaScriptCode("1".to_owned()),
            "symbol": Bson::Symbol("s".to_owned()),
            "scoped": JavaScriptCodeWithScope { code: "x".to_owned(), scope: doc! { "x": 1_i64 } },
            "timestamp": Timestamp { time: u32::MAX, increment: 2 },
            "least": Bson::MinKey, "greatest": Bson::MaxKey,
            "empty": { "array": [], "document": {}, "": 1, "$other": 2, "a.b": 3 },
        };
        let text = text_of(&everything).expect("converted");
        let back = parse(text.as_bytes()).expect("parsed");
        assert_eq!(back, everything);
        // `==` takes 0.0 for -0.0; the bytes differ.
        let raw = |document: &Document| RawDocumentBuf::try_from(document).expect("a document");
        assert_eq!(raw(&back).as_bytes(), raw(&everything).as_bytes());
    }

    #[test]
    fn it_is_what_the_driver_writes() {
        let document =
            doc! { "a": 1, "b": [1_i64, 1.5], "c": DateTime::from_millis(1), "d": "é\t" };
        let theirs = r#"{"a":{"$numberInt":"1"},"b":[{"$numberLong":"1"},{"$numberDouble":"1.5"}],"c":{"$date":{"$numberLong":"1"}},"d":"é\t"}"#;
        assert_eq!(text_of(&document).expect("converted"), theirs);
        let nan = text_of(&doc! { "a": f64::NAN }).expect("converted");
        assert_eq!(nan, r#"{"a":{"$numberDouble":"NaN"}}"#);
    }

    #[test]
    fn a_field_that_stands_for_a_type_is_refused() {
        for name in RESERVED {
            let within = doc! { "a": [{ name: "x" }] };
            let refused = text_of(&within).expect_err("refused");
            assert!(refused.to_string().contains(name), "{refused}");
        }
    }

    #[test]
    fn other_texts_are_no_documents() {
        for text in ["", "1", "[]", "{", "{\"a\":1}x", r#"{"a":{"$numberInt":"x"}}"#] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
