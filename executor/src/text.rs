//! Objects that are written as JSON as soon as their fields are known.
//!
//! Of most answers nothing is needed but the text: maps of their fields would be made, filled and taken
//! apart for nothing. Where an answer is wanted [as text](AsText), an object is a [`Value::Binary`] that
//! holds its JSON; nothing else that is answered is one.

use bytes::Bytes;
use serde::Serialize;
use upstream::{
    Name, Value,
    indexmap::{IndexMap, map::Entry},
};

/// Stands in the data of an operation whose answer is wanted as text.
#[derive(Debug)]
pub(crate) struct AsText;

/// The fields of an object, as far as they are resolved.
pub(crate) enum Object {
    Values(IndexMap<Name, Value>),
    /// From the opening brace on; the closing one is still to come.
    Text(Vec<u8>),
}

/// Bytes of a field's text that are expected.
const EXPECTED: usize = 40;

impl Object {
    /// One without fields, with room for so many.
    pub(crate) fn new(as_text: bool, fields: usize) -> Self {
        if as_text {
            let mut text = Vec::with_capacity(fields * EXPECTED);
            text.push(b'{');
            Self::Text(text)
        } else {
            Self::Values(IndexMap::with_capacity(fields))
        }
    }

    /// Adds a field. What was selected below one key in two places is one field; in text no key stands twice.
    pub(crate) fn put(&mut self, key: &Name, value: Value) {
        match self {
            Self::Values(values) => insert(values, key.clone(), value),
            Self::Text(text) => {
                if text.len() > 1 {
                    text.push(b',');
                }
                // Names of fields hold nothing that would have to be escaped.
                text.push(b'"');
                text.extend_from_slice(key.as_bytes());
                text.extend_from_slice(b"\":");
                write(&value, text);
            }
        }
    }

    /// Adds the fields of another.
    pub(crate) fn append(&mut self, more: Self) {
        match (self, more) {
            (Self::Values(values), Self::Values(more)) => {
                more.into_iter().for_each(|(key, value)| insert(values, key, value));
            }
            (Self::Text(text), Self::Text(more)) => {
                if text.len() > 1 && more.len() > 1 {
                    text.push(b',');
                }
                text.extend_from_slice(&more[1..]);
            }
            _ => {} // an operation's objects are all of one kind
        }
    }

    /// The object as it is answered; null where it has no fields.
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Values(values) if values.is_empty() => Value::Null,
            Self::Values(values) => Value::Object(values),
            Self::Text(text) if text.len() == 1 => Value::Null,
            Self::Text(mut text) => {
                text.push(b'}');
                Value::Binary(Bytes::from(text))
            }
        }
    }
}

fn insert(object: &mut IndexMap<Name, Value>, key: Name, value: Value) {
    match object.entry(key) {
        Entry::Vacant(free) => drop(free.insert(value)),
        Entry::Occupied(mut taken) => merge(taken.get_mut(), value),
    }
}

/// What was selected below one key in two places.
fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            more.into_iter().for_each(|(key, value)| insert(into, key, value));
        }
        (Value::List(into), Value::List(more)) => {
            into.iter_mut().zip(more).for_each(|(into, more)| merge(into, more));
        }
        _ => {} // the same
    }
}

/// Writes what was answered as JSON.
///
/// # Panics
/// Never: any scalar can be written into memory.
pub fn write(value: &Value, text: &mut Vec<u8>) {
    match value {
        Value::Binary(object) => text.extend_from_slice(object),
        Value::List(values) => {
            text.push(b'[');
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    text.push(b',');
                }
                write(value, text);
            }
            text.push(b']');
        }
        Value::Object(values) => {
            text.push(b'{');
            for (at, (key, value)) in values.iter().enumerate() {
                if at > 0 {
                    text.push(b',');
                }
                // Of a scalar: any text can be one.
                write_scalar(key.as_str(), text);
                text.push(b':');
                write(value, text);
            }
            text.push(b'}');
        }
        scalar => write_scalar(scalar, text),
    }
}

fn write_scalar(scalar: &(impl Serialize + ?Sized), text: &mut Vec<u8>) {
    #[expect(clippy::expect_used, reason = "a vector takes everything")]
    serde_json::to_writer(text, scalar).expect("a scalar in memory");
}

/// What was answered as text, as values again.
///
/// # Panics
/// Never with what was answered: that is JSON.
pub fn read(value: Value) -> Value {
    match value {
        #[expect(clippy::expect_used, reason = "it was written here")]
        Value::Binary(text) => serde_json::from_slice(&text).expect("JSON"),
        value => value,
    }
}
